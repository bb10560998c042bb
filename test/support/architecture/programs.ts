/** Rules on what a file may do to the machine: read the environment, or start a shell. */
import { importsOf, ofService, type Source, toTokens } from './source.ts'

const ENVIRONMENT_READER = 'src/config.ts'

/** Files that read process.env although only config.ts may. */
export function environmentReaders(sources: readonly Source[]): string[] {
  return ofService(sources)
    .filter(({ path }) => path !== ENVIRONMENT_READER)
    .flatMap(({ path, text }) => {
      const tokens = toTokens(text)
      const found = [
        /\bprocess (?:\? )?\. env\b/,
        /\bprocess (?:\? \. )?\[ "env"/,
        /\{[^{}]*\benv\b[^{}]*\} = process\b/,
      ]
      if (found.some((pattern) => pattern.test(tokens))) return [`${path} reads process.env`]
      return importsOf(text).some((name) => /^(node:)?process$/.test(name)) ? [`${path} imports node:process`] : []
    })
}

/** Calls that start a shell with a string. */
export function shells(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => {
    const tokens = toTokens(text)
    const violations: string[] = []
    const imports = [...tokens.matchAll(/(?:\{ ([^{}]*) \} (?:from|= await import \() )?"(?:node:)?child_process"/g)]
    for (const [, names] of imports) {
      if (names === undefined) violations.push(`${path} takes child_process as a whole; import what is needed by name`)
      const taken = (names ?? '').split(',').map((name) => name.replace(/^ *(type )?/, '').split(' ')[0])
      for (const name of ['exec', 'execSync']) {
        if (taken.includes(name)) violations.push(`${path} imports ${name}, which starts a shell`)
      }
    }
    if (/(?:\bshell|"shell") : (?:true\b|"|`)/.test(tokens)) violations.push(`${path} asks for a shell: true`)
    return violations
  })
}

/** A text that is put together could hold the input of a caller. A constant, or an entry of a table of constants, cannot. */
const COMPUTED_SCRIPT = /"(?:\/bin\/)?(?:ba)?sh" , (?:\[ )?"-c" , (?!"|[A-Z][A-Z0-9_]* (?:\[ \w+ \] )?[,\]])/

/** Files of the service that give a shell a script which is not a constant. */
export const computedScripts = (sources: readonly Source[]): string[] =>
  ofService(sources)
    .filter(({ text }) => COMPUTED_SCRIPT.test(toTokens(text)))
    .map(({ path }) => `${path} gives a shell a script that is not a constant`)
