/**
 * Paths of vercel.json, which are those of path-to-regexp: `/blog/:slug`, `/docs/:path*`, `/(.*)`. A regular expression
 * would be compared by backtracking, whose time a tenant could make any, so only the forms that need none are read.
 */
import { quoted } from '../headers.ts'
import { decodeLiteral } from '../path.ts'
import { type Pattern, RuleRefused, type Segment, type Splat } from '../rules.ts'
import { addName, checkPath, checkSegments, toPattern } from './netlify-path.ts'

export type ReadSource = {
  /** One for each way in which optional segments are there or not. */
  patterns: Pattern[]
  /** Whether the path must end with a slash; undefined where a splat is at its end. */
  slash: boolean | undefined
  names: Set<string>
  /** The names by their number, for `$1`. */
  numbered: string[]
}

type Capture = { kind: 'one' | 'any'; name: string; modifier: string }
type Part = string | Capture

export function readVercelPath(text: string): ReadSource {
  checkPath(text)
  const names = new Set<string>()
  const written = splitSegments(readParts(text.slice(1), names))
  const hasSlash = written.at(-1)?.length === 0
  if (hasSlash) written.pop()
  checkSegments(written.length)
  const numbered = [...names]

  const segments = written.map((parts) => readSegment(parts))
  if (segments.filter(({ splat }) => splat).length > 1)
    throw new RuleRefused('its path has more than one part of any length, such as ":path*" or "(.*)".')
  const optional = segments.filter(({ isOptional }) => isOptional).length
  if (optional > MAX_OPTIONAL) throw new RuleRefused(`its path has more than ${MAX_OPTIONAL} optional parts.`)

  const patterns = choicesOf(segments).map((chosen) => {
    const splatAt = chosen.findIndex(({ splat }) => splat)
    if (splatAt < 0) return toPattern(segmentsOf(chosen), undefined, [])
    const [head, tail] = [chosen.slice(0, splatAt), chosen.slice(splatAt + 1)]
    return toPattern(segmentsOf(head), chosen[splatAt]?.splat, segmentsOf(tail))
  })
  const isOpen = !hasSlash && segments.at(-1)?.splat !== undefined
  return { patterns, slash: isOpen ? undefined : hasSlash || segments.length === 0, names, numbered }
}

const MAX_OPTIONAL = 2

function readParts(text: string, names: Set<string>): Part[] {
  const parts: Part[] = []
  for (const found of text.matchAll(TOKEN)) {
    const [, escaped, name, expression, modifier, unnamed, unnamedModifier, other] = found
    if (escaped !== undefined) parts.push(escaped)
    else if (other !== undefined) parts.push(checkLiteral(other))
    else {
      const own = name ?? String(names.size + 1)
      addName(names, own)
      parts.push({ kind: kindOf(expression ?? unnamed), name: own, modifier: modifier ?? unnamedModifier ?? '' })
    }
  }
  return parts
}

/** An escaped character, a placeholder with its expression and modifier, an expression without a name, or a character. */
const TOKEN = /\\(.)|:([A-Za-z]\w*)(?:\(([^()\\]*)\))?([*+?]?)|\(([^()\\]*)\)([*+?]?)|(.)/gsu

function checkLiteral(character: string): string {
  if ('(){}*+?[]^$|\\'.includes(character)) throw new RuleRefused(`its path has a regular expression. ${SUPPORTED}`)
  return character
}

function kindOf(expression: string | undefined): Capture['kind'] {
  if (expression === undefined || expression === '[^/]+') return 'one'
  if (expression === '.*') return 'any'
  throw new RuleRefused(`its path has the regular expression ${quoted(`(${expression})`)}. ${SUPPORTED}`)
}

const SUPPORTED = 'Supported are :name, :name?, :name*, :name+ and (.*).'

function splitSegments(parts: readonly Part[]): Part[][] {
  const segments: Part[][] = [[]]
  for (const part of parts) {
    if (typeof part !== 'string') {
      segments.at(-1)?.push(part)
      continue
    }
    for (const [at, piece] of part.split('/').entries()) {
      if (at > 0) segments.push([])
      if (piece !== '') segments.at(-1)?.push(piece)
    }
  }
  return segments
}

/** Those that are no splat. */
const segmentsOf = (read: readonly ReadSegment[]): Segment[] => read.flatMap(({ segment }) => segment ?? [])

type ReadSegment = { segment?: Segment; splat?: Splat; isOptional?: boolean }

function readSegment(parts: readonly Part[]): ReadSegment {
  const captures = parts.filter((part) => typeof part !== 'string')
  const [capture] = captures
  if (!capture) return { segment: decodeLiteral(parts.join('')) }
  if (captures.length > 1) throw new RuleRefused('a segment of its path has more than one placeholder.')
  const at = parts.indexOf(capture)
  const prefix = decodeLiteral(parts.slice(0, at).join(''))
  const suffix = decodeLiteral(parts.slice(at + 1).join(''))
  const { kind, name, modifier } = capture
  const around = { ...(prefix === '' ? {} : { prefix }), ...(suffix === '' ? {} : { suffix }) }
  const isWhole = prefix === '' && suffix === ''
  if (modifier !== '' && (!isWhole || kind === 'any'))
    throw new RuleRefused(`the placeholder with "${modifier}" in its path must be a whole segment.`)
  if (kind === 'any') return { splat: { name, ...around } }
  if (modifier === '*') return { splat: { name, isOptional: true } }
  if (modifier === '+') return { splat: { name, isFilled: true } }
  return { segment: { name, ...around }, ...(modifier === '?' ? { isOptional: true } : {}) }
}

/** With each optional segment and without it. */
function choicesOf(segments: readonly ReadSegment[]): ReadSegment[][] {
  let choices: ReadSegment[][] = [[]]
  for (const segment of segments) {
    const withIt = choices.map((before) => [...before, segment])
    choices = segment.isOptional ? [...withIt, ...choices] : withIt
  }
  return choices
}
