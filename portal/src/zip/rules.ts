/**
 * What `.gitignore` and `.headlandignore` files leave out of a folder; the latter take precedence. All rules form one
 * list, in which the last match decides: the rules of a folder come after those of its parents, and apply only below
 * it. The command line does the same; a test compares the two.
 */
import ignore from 'ignore'

export const RULE_FILES = { git: '.gitignore', own: '.headlandignore' } as const

/** The contents of the ignore files in one folder. */
export type RuleTexts = { git: string; own: string }

/** One folder: its rules, and the names to check. */
export type Listing = { folder: string; texts: RuleTexts; names: { name: string; isFolder: boolean }[] }

export type Rules = {
  /** `path` is relative to the top. Must not be called for paths in a folder that is left out. */
  leavesOut(path: string, isFolder: boolean): boolean
  /** The same rules plus those of the ignore files in this folder. */
  within(folder: string, texts: RuleTexts): Rules
}

type Lists = { git: readonly string[]; own: readonly string[] }

export function createRules(lists: Lists = { git: [], own: [] }): Rules {
  const matcher = ignore({ ignoreCase: false }).add([...lists.git, ...lists.own])
  const rules: Rules = {
    leavesOut: (path, isFolder) => matcher.ignores(`${path}${isFolder ? '/' : ''}`),
    within(folder, texts) {
      const base = folder === '' ? '' : `${folder}/`
      const [git, own] = [patternsIn(texts.git, base), patternsIn(texts.own, base)]
      if (git.length + own.length === 0) return rules
      return createRules({ git: [...lists.git, ...git], own: [...lists.own, ...own] })
    },
  }
  return rules
}

const patternsIn = (text: string, base: string): string[] =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => rebase(line, base))

/** The pattern as it would be written in the topmost ignore file. */
function rebase(line: string, base: string): string {
  if (base === '') return line
  // Trailing spaces count only after a backslash.
  const pattern = line.replace(/(?<!\\) +$/, '')
  const [negation, body] = pattern.startsWith('!') ? ['!', pattern.slice(1)] : ['', pattern]
  const place = base.replaceAll(/[\\*?[]/g, '\\$&')
  // A pattern with a slash anywhere but at its end is anchored to its folder; one without matches at any depth.
  const isAnchored = /\/(?!$)/.test(body)
  return `${negation}/${place}${isAnchored ? body.replace(/^\//, '') : `**/${body}`}`
}
