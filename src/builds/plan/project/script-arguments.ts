/**
 * The arguments that the build script passes to a tool: `--outDir` in `vite build --outDir public` takes precedence over the
 * configuration. Scripts that run other scripts are followed.
 */
import type { Project } from './project.ts'
import { buildScript, scriptText } from './scripts.ts'

const MAX_SCRIPTS = 20

/** The words after a command such as `vite build`, in the build script or in a script that it runs. */
export function wordsAfter(project: Project, command: string, script = buildScript(project)): string[] | undefined {
  const scripts = new Set(script === undefined ? [] : [script])
  for (const name of scripts) {
    const text = scriptText(project, name).replaceAll(/[&|;]+/g, ' $& ')
    const words = text.split(/\s+/)
    const found = argumentsIn(words, command.split(' '))
    if (found !== undefined) return found
    const others = words.map(unquote).filter((word) => scriptText(project, word) !== '')
    for (const other of others.slice(0, MAX_SCRIPTS - scripts.size)) scripts.add(other)
  }
  return undefined
}

/** The value of `--flag value` or `--flag=value`. */
export function flagIn(words: readonly string[], ...flags: readonly string[]): string | undefined {
  for (const [index, word] of words.entries()) {
    const flag = flags.find((flag) => word === flag || word.startsWith(`${flag}=`))
    if (flag !== undefined) return unquote(word === flag ? (words[index + 1] ?? '') : word.slice(flag.length + 1))
  }
  return undefined
}

/** The words up to the end of the command. A command may be written with its path or its scope. */
function argumentsIn(words: readonly string[], command: readonly string[]): string[] | undefined {
  const isThere = (at: number): boolean =>
    command.every((part, index) => (words[at + index] ?? '').replace(/^.*\//, '') === part)
  const at = words.findIndex((_, index) => isThere(index))
  if (at < 0) return undefined
  const rest = words.slice(at + command.length)
  const end = rest.findIndex((word) => /^[&|;]/.test(word))
  return rest.slice(0, end < 0 ? undefined : end)
}

const unquote = (word: string): string => word.replaceAll(/^['"]|['"]$/g, '')
