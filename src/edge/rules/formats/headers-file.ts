/**
 * Reads `_headers`, the format of Netlify and Cloudflare Pages: a path, and below it the headers of its responses.
 *
 *   /assets/*
 *     Cache-Control: public, max-age=604800
 *     ! X-Frame-Options
 */
import { checkHeaderName, checkHeaderValue, quoted } from '../headers.ts'
import { RULE_LIMITS } from '../limits.ts'
import { type HeaderRule, type Located, type ParsedFile, RuleRefused } from '../rules.ts'
import { readTemplate } from '../template.ts'
import { warningOf } from '../warnings.ts'
import { readNetlifyPath } from './netlify-path.ts'

type Block = { rule: HeaderRule & Located; names: ReadonlySet<string> }

export function parseHeadersFile(text: string): ParsedFile {
  const parsed: ParsedFile = { redirects: [], headers: [], warnings: [] }
  /** The one that is being read; undefined before the first path; null below a path that was refused. */
  let block: Block | null | undefined
  for (const [at, written] of text.split('\n').entries()) {
    const line = at + 1
    const content = written.trim()
    if (content === '' || content.startsWith('#')) continue
    try {
      if (isPath(content)) {
        block = null
        block = beginBlock(content, line)
        parsed.headers.push(block.rule)
      } else if (block) addHeader(block, content)
      else if (block === undefined) throw new RuleRefused('a header stands before the first path.')
    } catch (error) {
      parsed.warnings.push(warningOf(error, line))
    }
  }
  return parsed
}

const isPath = (content: string): boolean => content.startsWith('/') || /^https?:\/\//i.test(content)

function beginBlock(content: string, line: number): Block {
  if (!content.startsWith('/'))
    throw new RuleRefused('its path has a host name: a rule applies to all host names of the environment.')
  const { pattern, names } = readNetlifyPath(content)
  return { rule: { for: pattern, line }, names }
}

function addHeader({ rule, names }: Block, content: string) {
  const count = (rule.set?.length ?? 0) + (rule.remove?.length ?? 0)
  if (count >= RULE_LIMITS.headersPerRule)
    throw new RuleRefused(`a path has more than ${RULE_LIMITS.headersPerRule} headers.`)
  if (content.startsWith('!')) {
    rule.remove ??= []
    rule.remove.push(checkHeaderName(content.slice(1).trim()))
    return
  }
  const colon = content.indexOf(':')
  if (colon < 0) throw new RuleRefused(`${quoted(content)} is neither a path nor a header, which has a colon.`)
  const name = checkHeaderName(content.slice(0, colon).trim())
  rule.set ??= []
  rule.set.push([name, readTemplate(checkHeaderValue(name, content.slice(colon + 1)), { names })])
}
