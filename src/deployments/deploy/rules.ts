/**
 * Reads the redirects and headers that the author of a static site wrote: `_redirects` and `_headers` of the output,
 * netlify.toml and vercel.json of the project. What cannot be applied is a warning in the log, and never fails a build.
 */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { printableLine } from '../../base/index.ts'
import { isAnythingIn, type Plan, textIn } from '../../builds/index.ts'
import {
  type Compiled,
  compileInThread,
  RULE_FILES,
  RULE_LIMITS,
  type RuleFile,
  type SiteRules,
} from '../../edge/index.ts'

const IN_OUTPUT: readonly RuleFile[] = ['_redirects', '_headers']

export type RuleTexts = { texts: Partial<Record<RuleFile, string>>; warnings: string[] }

/** As uploaded, before the build changes anything. */
export const readProjectRules = (source: string, rootDirectory: string): Promise<RuleTexts> =>
  readTexts(
    source,
    RULE_FILES.filter((file) => !IN_OUTPUT.includes(file)),
    rootDirectory,
  )

export type RuleParts = {
  project: RuleTexts
  /** The folder of the output. */
  files: string
  plan: Plan
  allowedHosts: readonly string[]
}

/** The rules, and what the log says about them. */
export async function compileSiteRules({ project, files, plan, allowedHosts }: RuleParts): Promise<Compiled> {
  const { output } = plan
  const isStatic = output.kind === 'static'
  const own = isStatic ? await readTexts(files, IN_OUTPUT) : { texts: {}, warnings: [] }
  const texts = { ...own.texts, ...project.texts }
  const unread = [...own.warnings, ...(isStatic ? project.warnings : [])]
  const names = RULE_FILES.filter((file) => texts[file] !== undefined)
  if (names.length === 0) return { rules: undefined, warnings: unread }
  const basePath = isStatic ? output.basePath : ''
  const { rules, warnings } = await compileInThread({
    texts,
    basePath,
    allowedHosts,
    folder: isStatic ? files : undefined,
  })
  // They quote what is in the files.
  if (isStatic) return { rules, warnings: [...unread, ...warnings.map(printableLine)] }
  const isConcerned = rules !== undefined || warnings.length > 0
  const because = `${names.join(' and ')}: redirects, rewrites and headers apply to static sites only. This app has a server, which answers by itself.`
  return { rules: undefined, warnings: isConcerned ? [because] : [] }
}

/** The same files with other rules are another output: a deployment never changes. */
export const digestOfRules = (rules: SiteRules | undefined): string =>
  rules ? createHash('sha256').update(JSON.stringify(rules)).digest('hex') : ''

/** For the log. */
export function describeRules({ redirects, headers }: SiteRules): string {
  const counted = (count: number, one: string, more: string) => `${count} ${count === 1 ? one : more}`
  return `The site has ${counted(redirects.length, 'redirect or rewrite', 'redirects and rewrites')} and ${counted(headers.length, 'rule', 'rules')} for headers.`
}

async function readTexts(top: string, names: readonly RuleFile[], folder = ''): Promise<RuleTexts> {
  const read: RuleTexts = { texts: {}, warnings: [] }
  for (const name of names) {
    const path = posix.join(folder, name)
    const text = await textIn(top, path, RULE_LIMITS.fileBytes)
    if (text !== undefined) read.texts[name] = text
    else if (await isAnythingIn(top, path))
      read.warnings.push(
        `${name}: it must be a regular file of at most ${RULE_LIMITS.fileBytes / 1024 ** 2} MiB. It is left out.`,
      )
  }
  return read
}
