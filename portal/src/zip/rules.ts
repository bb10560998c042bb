/**
 * What of a folder is left out by its `.gitignore` files, and by its `.headlandignore` files, which have the last word. All
 * rules are one list, in which the last that fits decides: those of a folder stand after those of the folders around it,
 * and hold below it alone. It is how the command line reads them; a test holds the two against each other.
 */
import ignore from 'ignore'

export const RULE_FILES = { git: '.gitignore', own: '.headlandignore' } as const

/** The texts of the files with rules in one folder. */
export type RuleTexts = { git: string; own: string }

/** One folder: the rules in it, and the names that are in question. */
export type Listing = { folder: string; texts: RuleTexts; names: { name: string; isFolder: boolean }[] }

export type Rules = {
  /** `path` is relative to the top. What is in a folder that is left out must not be asked for. */
  leavesOut(path: string, isFolder: boolean): boolean
  /** The same with what the files in this folder add. */
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

/** The pattern as it would stand in the topmost file. */
function rebase(line: string, base: string): string {
  if (base === '') return line
  // Spaces at the end count only where a back-slash stands before them.
  const pattern = line.replace(/(?<!\\) +$/, '')
  const [negation, body] = pattern.startsWith('!') ? ['!', pattern.slice(1)] : ['', pattern]
  const place = base.replaceAll(/[\\*?[]/g, '\\$&')
  // With a slash anywhere but at its end it is about one place; without, about any depth.
  const isAnchored = /\/(?!$)/.test(body)
  return `${negation}/${place}${isAnchored ? body.replace(/^\//, '') : `**/${body}`}`
}
