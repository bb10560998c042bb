/** Whatever a tenant writes, a message is only text: it mentions no people, has no links but ours, and fits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, NASTY } from '../../../test/support/fuzz.ts'
import { toDiscord } from './discord.ts'
import { toEmail } from './email.ts'
import { type Message, wholeLink } from './message.ts'
import { toSlack } from './slack.ts'
import { toTeams } from './teams.ts'

const LINK = 'https://headland.example.com/accounts/ours?a=1&b=2'

const MARKUP = [
  ...['<!channel>', '<!here>', '<@U012AB3CD>', '<#C1>', '<https://evil.example|click>', '@everyone', '@here', '<@123>'],
  ...[
    '[click](https://evil.example)',
    '**bold**',
    '`code`',
    '> quote',
    '# head',
    '<at>all</at>',
    '&lt;',
    '\\',
    '||x||',
  ],
  ...['http://evil.example', ':skull:', '\n\n', '_', '~~', '*'],
]
const text = fc
  .array(fc.oneof(fc.constantFrom(...MARKUP), fc.constantFrom(...NASTY), fc.string()), { maxLength: 60 })
  .map((parts) => parts.join(' ').slice(0, 2000))
const messages = fc.record({ title: text, text }).map(
  (words): Message => ({
    id: 'a',
    kind: 'BUILD_FAILED',
    account: 'ours',
    app: 'shop',
    environment: null,
    resource: 'accounts/ours',
    link: LINK,
    time: 0,
    ...words,
    title: words.title.slice(0, 200),
  }),
)

test('Slack gets no control sequence of its markup but our own link', () =>
  holds(
    fc.property(messages, (message) => {
      const { text: shown, blocks } = toSlack(message)
      const texts = blocks.flatMap((block) =>
        [block.text, ...(block.elements ?? [])].filter((one) => one !== undefined),
      )
      for (const { type, text: written } of texts) {
        if (type === 'mrkdwn')
          assert.equal(written, '<https://headland.example.com/accounts/ours?a=1&amp;b=2|Open in Headland>')
        else assert.doesNotMatch(written, /[<>]|&(?!amp;|lt;|gt;)/)
        assert.ok(written.length <= 3000)
      }
      assert.doesNotMatch(shown, /[<>]/)
      assert.ok((blocks[0]?.text?.text.length ?? 0) <= 150)
    }),
    300,
  ))

test('Discord gets every sign of Markdown escaped, follows no mention, and shows the whole text', () =>
  holds(
    fc.property(messages, (message) => {
      const { embeds, allowed_mentions } = toDiscord(message)
      assert.deepEqual(allowed_mentions, { parse: [] })
      const [embed] = embeds
      for (const written of [embed?.title ?? '', embed?.description ?? '']) {
        const rest = written.replaceAll(/\\[^0-9A-Za-z\s]/gu, '')
        assert.doesNotMatch(rest, /[\\*_~`|>#[\]()<@:]/)
      }
      assert.ok((embed?.title.length ?? 0) <= 256 && (embed?.description.length ?? 0) <= 4096)
      assert.equal(embed?.description.replaceAll(/\\([^0-9A-Za-z\s])/gu, '$1'), message.text)
    }),
    300,
  ))

test('Teams gets text of tenants in text runs only, and no entities of mentions', () =>
  holds(
    fc.property(messages, (message) => {
      const { content } = toTeams(message).attachments[0] ?? assert.fail()
      for (const block of content.body) {
        assert.equal(block.type, 'RichTextBlock')
        for (const run of block.inlines) assert.equal(run.type, 'TextRun')
      }
      assert.ok(!('msteams' in content))
      assert.deepEqual(content.actions, [{ type: 'Action.OpenUrl', title: 'Open in Headland', url: LINK }])
      assert.ok(JSON.stringify(content).length < 28 * 1024)
    }),
    300,
  ))

test('an e-mail has what was written, as plain text', () =>
  holds(
    fc.property(messages, (message) => {
      const { text: written } = toEmail(message)
      assert.ok(written.startsWith(message.title) && written.includes(message.text) && written.includes(LINK))
    }),
    50,
  ))

test('a link is whole, or is left out', () => {
  assert.equal(wholeLink('/accounts/ours', 'https://a.example'), 'https://a.example/accounts/ours')
  assert.equal(wholeLink('https://b.example/x', 'https://a.example'), 'https://b.example/x')
  for (const link of ['javascript:alert(1)', 'data:text/html,x', null])
    assert.equal(wholeLink(link, 'https://a.example'), null)
  assert.equal(wholeLink('/accounts/ours', ''), null)
})
