/** A message for Discord's webhooks: an embed, whose text is Markdown, so everything that is Markdown is escaped; no mention is followed. */
import { toRfc3339 } from '../../base/index.ts'
import { type Message, WEIGHTS, type Weight, writeWithin } from './message.ts'

const MAX_TITLE = 256
const MAX_TEXT = 4096

const COLOURS: Record<Weight, number> = { BAD: 0xc62828, WARNING: 0xb26a00, GOOD: 0x2e7d32, PLAIN: 0x546e7a }

/** Discord reads any sign behind a backslash as itself. A colon, too: then no address becomes a link. */
export const escapeDiscord = (text: string, maxLength: number): string =>
  writeWithin(text, maxLength, (character) => (MARKDOWN.test(character) ? `\\${character}` : character))

const MARKDOWN = /[\\*_~`|>#\-+[\](){}<@:.!]/

export const toDiscord = ({ kind, title, text, link, time }: Message) => ({
  embeds: [
    {
      title: escapeDiscord(title, MAX_TITLE),
      description: escapeDiscord(text, MAX_TEXT),
      ...(link === null ? {} : { url: link }),
      color: COLOURS[WEIGHTS[kind]],
      timestamp: toRfc3339(time),
    },
  ],
  allowed_mentions: { parse: [] },
})
