/**
 * Which files of a project are left out. Rules come from `.gitignore` files, as git reads them, and from `.headlandignore`
 * files, which have the same syntax and take precedence. All of them are one list, in which the last matching rule decides:
 * those of a folder come after those of the folders around it, and apply only below it (gitignore(5), "pattern format").
 */
import { stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import ignore from 'ignore'
import { readSmallFile } from '../project/small-files.ts'

const GIT_FILE = '.gitignore'
const OWN_FILE = '.headlandignore'

/** The largest known ones have some 100 KB. */
const MAX_BYTES = 1024 * 1024

export type Rules = {
  /** `path` is relative to the project, with slashes. What is in a folder that is left out must not be asked for. */
  leavesOut(path: string, kind: 'file' | 'folder'): boolean
  /** These rules together with those of the files in this folder. */
  within(folder: string): Promise<Rules>
  /** Whether any file with rules was found so far. */
  areGiven: boolean
}

type Lists = { git: readonly string[]; own: readonly string[] }

export async function readRules(project: string): Promise<Rules> {
  const { top, git } = await rulesAround(project)
  const prefix = top === project ? '' : `${relative(top, project).split(sep).join('/')}/`

  function rulesOf(lists: Lists): Rules {
    const matcher = ignore({ ignoreCase: false }).add([...lists.git, ...lists.own])
    const rules: Rules = {
      areGiven: lists.git.length + lists.own.length > 0,
      leavesOut: (path, kind) => matcher.ignores(`${prefix}${path}${kind === 'folder' ? '/' : ''}`),
      async within(folder) {
        const base = `${prefix}${folder === '' ? '' : `${folder}/`}`
        const more = {
          git: await patternsIn(join(project, folder, GIT_FILE), base),
          own: await patternsIn(join(project, folder, OWN_FILE), base),
        }
        if (more.git.length + more.own.length === 0) return rules
        return rulesOf({ git: [...lists.git, ...more.git], own: [...lists.own, ...more.own] })
      },
    }
    return rules
  }
  return rulesOf({ git, own: [] })
}

/**
 * A project may be a folder of a repository, whose rules apply in it too. They do not apply in a folder that the repository
 * itself ignores, such as the output of a build: the user chose it on purpose.
 */
async function rulesAround(project: string): Promise<{ top: string; git: string[] }> {
  const none = { top: project, git: [] }
  const top = await repositoryAround(project)
  if (top === undefined || top === project) return none
  const git: string[] = []
  const steps = relative(top, project).split(sep)
  for (const depth of steps.keys()) {
    const at = steps.slice(0, depth)
    git.push(...(await patternsIn(join(top, ...at, GIT_FILE), at.map((step) => `${step}/`).join(''))))
  }
  return ignore({ ignoreCase: false })
    .add(git)
    .ignores(`${steps.join('/')}/`)
    ? none
    : { top, git }
}

/** The top of the repository that a folder is in. */
export async function repositoryAround(folder: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    if (await stat(join(at, '.git')).then(Boolean, () => false)) return at
    if (dirname(at) === at) return undefined
  }
}

async function patternsIn(file: string, base: string): Promise<string[]> {
  const found = await readSmallFile(file, { maxBytes: MAX_BYTES, followsLinks: true })
  return (found?.content.toString('utf8') ?? '')
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => rebase(line, base))
}

/** The pattern as it would stand in the topmost file. */
function rebase(line: string, base: string): string {
  if (base === '') return line
  // Spaces at the end count only after a backslash.
  const pattern = line.replace(/(?<!\\) +$/, '')
  const [negation, body] = pattern.startsWith('!') ? ['!', pattern.slice(1)] : ['', pattern]
  const place = base.replaceAll(/[\\*?[]/g, '\\$&')
  // A pattern with a slash other than at its end is relative to its folder; without one it matches at any depth.
  const isAnchored = /\/(?!$)/.test(body)
  return `${negation}/${place}${isAnchored ? body.replace(/^\//, '') : `**/${body}`}`
}
