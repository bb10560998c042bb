/** Server-sent events (HTML, section 9.2.6) out of text that is cut anywhere. */
import { notALog } from './log-lines.ts'

export type ServerEvent = { event: string; data: string }

/** The service cuts a line of a log at 8,192 characters; JSON may escape one as six. */
export const MAX_HELD_LENGTH = 256 * 1024

/** Takes chunks of text, and returns the events that are complete. */
export function createEventParser(): (text: string) => ServerEvent[] {
  let rest = ''
  let event = ''
  let data: string[] = []
  let length = 0
  return (text) => {
    const found: ServerEvent[] = []
    rest += text
    if (rest.length + length > MAX_HELD_LENGTH + text.length) throw notALog()
    if (!/[\r\n]/.test(text)) return found
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) found.push({ event: event || 'message', data: data.join('\n') })
        event = ''
        data = []
        length = 0
        continue
      }
      const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
      if (field === 'event') event = value
      if (field === 'data') data.push(value)
      length += line.length
    }
    return found
  }
}
