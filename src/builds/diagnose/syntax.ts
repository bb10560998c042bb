/** Source that cannot be parsed, as compilers report it. */
import { quote, sentence } from './lines.ts'
import { type Hit, type Line, RUNNING_CODE, type Rule, search } from './rule.ts'

const SYNTAX = [
  /: ERROR: (?:Expected|Unexpected|Unterminated|Syntax error|The character)\b/,
  /^\s{0,4}✘ \[ERROR\] (?:Expected|Unexpected|Unterminated|Syntax error|The character)\b/,
  /^\s{0,8}(?:Error:\s{1,8})?[x×] (?:Expected|Unexpected|Unterminated|Expression expected)\b/,
  /^\s{0,8}Syntax Error$/,
  /\[PARSE_ERROR\]/,
  /\bParse failure: /,
  /\bCssSyntaxError: /,
  /SyntaxError: (?:\[vue\/compiler-sfc\] |\/[^ ]{1,300}: )/,
]
/** Turbopack writes the error first, and that it is one of parsing below the code that it shows. */
const PARSING = /^(?:Error: )?Parsing [a-zA-Z]{2,20} (?:source code|file) failed/
const WRONG = /^(?:Error: )?(?:Expected|Unexpected|Unterminated|Expression expected)\b/
const CODE_LINES = 12
/** Node reports the same for text that a program parses: only errors of its loader are about source. */
const THROWN = /^(?:\[.{1,40}\] )?SyntaxError: /
const LOADER = /\bat (?:wrapSafe|compileSourceTextModule|internalCompileFunction|compileFunctionForCJSLoader)\b/
const STACK_LINES = 12
const PLACE_LINES = 6

/** An error in a package is not for the app to correct. */
const IN_PACKAGE = /\bnode_modules\//
const PLACE = /^\s{0,8}(?:file: |╭─\[|,-\[|> )?(\.{0,2}\/?[\w@[\]().-][^ :]{0,300}\.[a-z]{2,6}):(\d{1,6})(?::\d{1,6})?/

export const syntaxError: Rule = {
  phases: RUNNING_CODE,
  find({ lines }) {
    const hits = [...search(lines, ...SYNTAX), ...parsedIn(lines), ...loadedIn(lines)]
      .filter(({ index }) => !isOfPackage(lines, index))
      .toSorted((a, b) => a.index - b.index)
    const [first] = hits
    if (!first) return undefined
    const place = placeOf(lines, first)
    const quoted = quote(first.match.input.replace(/^\s{0,8}(?:Error:\s{1,8})?(?:[x×] )?/, ''))
    const message = `${sentence('A file of the app cannot be parsed', `${place && !quoted.includes(place) ? `${place} ` : ''}${quoted}`)} Correct it, and build the app on your machine before you upload it.`
    return { reason: 'SYNTAX_ERROR', message, at: first.index, lastAt: hits.at(-1)?.index ?? first.index }
  },
}

const parsedIn = (lines: readonly Line[]): Hit[] => {
  const wrong = search(lines, WRONG)
  return search(lines, PARSING).map(
    (hit) => wrong.findLast(({ index }) => index < hit.index && index > hit.index - CODE_LINES) ?? hit,
  )
}

const loadedIn = (lines: readonly Line[]): Hit[] =>
  search(lines, THROWN).filter(({ index }) =>
    lines.slice(index + 1, index + STACK_LINES).some(({ text }) => LOADER.test(text)),
  )

const isOfPackage = (lines: readonly Line[], index: number): boolean =>
  lines
    .slice(Math.max(0, index - PLACE_LINES), index + 1)
    .some(({ text }) => !text.trimStart().startsWith('at ') && IN_PACKAGE.test(text))

/** The file and the line, which most compilers write before the error. */
function placeOf(lines: readonly Line[], { index }: Hit): string {
  const near = lines.slice(Math.max(0, index - PLACE_LINES), index + PLACE_LINES)
  for (const { text } of near) {
    const [, file, line] = PLACE.exec(text) ?? []
    if (file !== undefined) return `${quote(file)}:${line}`
  }
  return ''
}
