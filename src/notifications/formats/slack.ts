/**
 * A message for Slack's incoming webhooks. Text of tenants is `plain_text`, in which Slack reads no links and no mentions; the
 * three characters with which its markup begins are escaped all the same.
 */
import { type Message, writeWithin } from './message.ts'

const MAX_HEADER = 150
const MAX_TEXT = 3000

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

export const escapeSlack = (text: string, maxLength: number): string =>
  writeWithin(text, maxLength, (character) => ENTITIES[character] ?? character)

const plain = (text: string, maxLength: number) => ({
  type: 'plain_text',
  text: escapeSlack(text, maxLength),
  emoji: false,
})

export const toSlack = ({ title, text, link }: Message) => ({
  // What a phone shows.
  text: escapeSlack(title, MAX_TEXT),
  mrkdwn: false,
  parse: 'none',
  link_names: false,
  unfurl_links: false,
  unfurl_media: false,
  blocks: [
    { type: 'header', text: plain(title, MAX_HEADER) },
    ...(text === '' ? [] : [{ type: 'section', text: plain(text, MAX_TEXT) }]),
    ...(link === null
      ? []
      : [{ type: 'context', elements: [{ type: 'mrkdwn', text: `<${inLink(link)}|Open in Headland>` }] }]),
  ],
})

/** What would end the link is written as the URL may have it. */
const inLink = (link: string): string =>
  link.replaceAll('|', '%7C').replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('&', '&amp;')
