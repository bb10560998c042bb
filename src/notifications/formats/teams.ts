/** A card for webhooks of Teams' Workflows. Text of tenants is in text runs, in which Teams reads no Markdown. */
import { type Message, WEIGHTS, type Weight } from './message.ts'

/** A card may have 28 KB. */
const MAX_LINES = 30

const COLOURS: Record<Weight, string> = { BAD: 'attention', WARNING: 'warning', GOOD: 'good', PLAIN: 'default' }

const line = (text: string, looks: Record<string, string> = {}) => ({
  type: 'RichTextBlock',
  spacing: 'none',
  inlines: [{ type: 'TextRun', text, ...looks }],
})

export const toTeams = ({ kind, title, text, link }: Message) => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      contentUrl: null,
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [
          line(title, { weight: 'bolder', size: 'medium', color: COLOURS[WEIGHTS[kind]] }),
          ...linesOf(text).map((each) => line(each)),
        ],
        ...(link === null ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Open in Headland', url: link }] }),
      },
    },
  ],
})

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .filter((each) => each.trim() !== '')
    .slice(0, MAX_LINES)
