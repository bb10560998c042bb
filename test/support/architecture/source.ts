/** Reads source text without a parser: the imports of a file, and its tokens without comments and the content of strings. */
import { dirname, join } from 'node:path/posix'

/** `path` is relative to the top of the repository: `src/apps/apps.ts`. */
export type Source = { path: string; text: string }

/** Source files of the service, without tests. */
export const ofService = (sources: readonly Source[]): Source[] =>
  sources.filter(({ path }) => path.startsWith('src/') && !isTest(path))

export const isTest = (path: string): boolean => /\.test\.tsx?$/.test(path)

/** The files that a file imports, of those that have a relative path. */
export const importedFiles = ({ path, text }: Source): string[] =>
  importsOf(text)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => join(dirname(path), specifier))

const IMPORTS = [
  /\bfrom "([^"]*)"/g,
  /\bimport "([^"]*)"/g,
  /\b(?:import|require) \( "([^"]*)"/g,
  /\bimport \. meta \. resolve \( "([^"]*)"/g,
  /\bnew URL \( "([^"]*)" , import \. meta \. url/g,
]

export function importsOf(text: string): string[] {
  const tokens = toTokens(text)
  return IMPORTS.flatMap((pattern) => [...tokens.matchAll(pattern)].map(([, specifier = '']) => specifier))
}

export const hasComputedImport = (text: string): boolean =>
  /\bimport \( (?!")|\bnew URL \( (?!")[^()]* , import \. meta \. url/.test(toTokens(text))

const TOKEN = /[\p{ID_Continue}$#]+/uy
const BLANK = /\s+|\/\/.*|\/\*[\s\S]*?\*\/|^#!.*/y
const STRING = /'((?:[^'\\]|\\[\s\S])*)'|"((?:[^"\\]|\\[\s\S])*)"/y
const REGULAR_EXPRESSION = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y
/** Part of a template: up to its end, or up to the next `${`. */
const TEMPLATE = /((?:[^`\\$]|\\[\s\S]|\$(?!\{))*)(`|\$\{)/y
/** After one of these a slash begins a regular expression; after anything else it divides. */
const BEFORE_EXPRESSION = /(?:^|[^\w$)\]}"`]|\b(?:return|typeof|case|in|of|await|yield))$/

/**
 * The tokens of a source file with one space between them. Comments and regular expressions are left out, and each string is
 * one token in double quotes, so a rule can be a plain pattern and the content of a string breaks none.
 */
export function toTokens(text: string): string {
  const tokens: string[] = []
  /** For each template that we are inside of, how many braces were open when its `${` came. */
  const templates: number[] = []
  let braces = 0
  let at = 0

  function take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }

  function takeTemplate() {
    const [, content = '', end] = take(TEMPLATE) ?? []
    if (end === undefined) throw new Error(`a template does not end: ${text.slice(at, at + 40)}`)
    tokens.push(`\`${bare(content)}\``)
    if (end === '${') templates.push(braces)
  }

  while (at < text.length) {
    if (take(BLANK)) continue
    if (BEFORE_EXPRESSION.test(tokens.at(-1) ?? '') && take(REGULAR_EXPRESSION)) {
      tokens.push('"regular-expression"')
      continue
    }
    const string = take(STRING)
    const token = string ? `"${bare(string[1] ?? string[2] ?? '')}"` : take(TOKEN)?.[0]
    if (token !== undefined) {
      tokens.push(token)
      continue
    }
    const mark = text[at++] ?? ''
    if (mark === '`') {
      takeTemplate()
    } else if (mark === '}' && templates.at(-1) === braces) {
      templates.pop()
      takeTemplate()
    } else {
      if (mark === '{') braces++
      if (mark === '}') braces--
      tokens.push(mark)
    }
  }
  return tokens.join(' ')
}

/** What a string holds, without what could be taken for its end or for a space between tokens. */
const bare = (content: string): string => content.replaceAll(/[\s"`]/g, '_')
