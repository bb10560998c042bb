/**
 * Reads `_redirects`, the format of Netlify and Cloudflare Pages, one rule a line:
 *
 *   from [name=value …] to [status[!]] [condition=value …] [# comment]
 */
import { quoted } from '../headers.ts'
import { RULE_LIMITS } from '../limits.ts'
import { type ParsedFile, type RedirectRule, RuleRefused } from '../rules.ts'
import { warningOf } from '../warnings.ts'
import { toRedirect } from './netlify-redirect.ts'

export function parseRedirectsFile(text: string): ParsedFile {
  const parsed: ParsedFile = { redirects: [], headers: [], warnings: [] }
  for (const [at, written] of text.split('\n').entries()) {
    const line = at + 1
    const content = written.trim()
    if (content === '' || content.startsWith('#')) continue
    try {
      parsed.redirects.push({ ...parseLine(content), line })
    } catch (error) {
      parsed.warnings.push(warningOf(error, line))
    }
  }
  return parsed
}

function parseLine(content: string): RedirectRule {
  if (content.length > 4 * RULE_LIMITS.textLength)
    throw new RuleRefused(`the line has more than ${4 * RULE_LIMITS.textLength} characters.`)
  const words = content.split(/\s+/)
  const comment = words.findIndex((word, at) => at > 0 && word.startsWith('#'))
  const [from = '', ...rest] = comment < 0 ? words : words.slice(0, comment)
  if (rest.length === 0) throw new RuleRefused('it has no destination.')

  // A path and a status alone: the same path, answered by its files.
  const isForward = STATUS.test(rest[0] ?? '')
  const at = isForward ? -1 : rest.findIndex((word) => /^(?:\/|https?:)/i.test(word))
  if (!isForward && at < 0)
    throw new RuleRefused('it has no destination: one begins with "/", "http://" or "https://".')
  const [status, ...conditions] = rest.slice(at + 1)
  if (status !== undefined && !STATUS.test(status))
    throw new RuleRefused(`${quoted(status)} stands where a status such as 301 belongs.`)
  return toRedirect({
    from,
    query: isForward ? [] : rest.slice(0, at).map(toPair),
    to: isForward ? undefined : rest[at],
    status: status === undefined ? undefined : Number.parseInt(status, 10),
    isForced: status?.endsWith('!') === true,
    conditions: conditions.map((condition) => toPair(condition)[0]),
  })
}

const STATUS = /^\d{3}!?$/

function toPair(text: string): [string, string] {
  const at = text.indexOf('=')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
