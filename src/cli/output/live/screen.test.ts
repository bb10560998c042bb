import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds } from '../../../../test/support/fuzz.ts'
import { createTerminalModel } from '../../../../test/support/terminal/terminal-model.ts'
import { widthOf } from '../../../contract/index.ts'
import { createScreen } from './screen.ts'

const ESC = '\x1b['
const drawn = (texts: readonly string[]) => texts.map((text) => ({ text, width: widthOf(text) }))

/** A screen, the terminal that it draws on, and each of its writes. */
function onTerminal(columns = 40, rows = 12) {
  const terminal = createTerminalModel(columns, rows)
  const writes: string[] = []
  const out = {
    columns,
    write(text: string) {
      writes.push(text)
      // As a terminal does for a line feed.
      terminal.write(text.replaceAll(/\r?\n/g, '\r\n'))
      return true
    },
  }
  return { screen: createScreen(out as unknown as NodeJS.WriteStream), terminal, writes, out }
}

test('what is drawn is what was given last, and lines above it stay', () =>
  holds(
    fc.property(
      fc.array(
        fc.oneof(
          fc.record({ show: fc.array(fc.constantFrom('a', 'bb', '字字', ''), { minLength: 1, maxLength: 6 }) }),
          fc.record({ above: fc.constantFrom('note', 'another note') }),
        ),
        { maxLength: 12 },
      ),
      (steps) => {
        const { screen, terminal } = onTerminal()
        let [above, below]: [string[], readonly string[]] = [[], []]
        for (const step of steps) {
          if ('show' in step) {
            below = step.show
            screen.show(drawn(below))
          } else {
            above = [...above, step.above]
            screen.above(`${step.above}\n`)
          }
          assert.equal(terminal.text(), [...above, ...below].join('\n').trimEnd())
        }
        screen.remove()
        assert.equal(terminal.text(), above.join('\n'))
        assert.deepEqual(terminal.modes, { wraps: true, showsCursor: true, isUpdating: false, isAlternate: false })
      },
    ),
    200,
  ))

test('each change is one synchronized write of the lines that differ, and no change writes nothing', () => {
  const { screen, terminal, writes } = onTerminal()
  screen.show(drawn(['one', 'two', 'three']))
  screen.show(drawn(['one', 'TWO', 'three']))
  screen.show(drawn(['one', 'TWO', 'three']))
  assert.equal(writes.length, 2)
  for (const text of writes) assert.ok(text.startsWith(`${ESC}?2026h`) && text.endsWith(`${ESC}?2026l`))
  assert.doesNotMatch(writes[1] ?? '', /one|three/)
  assert.equal(terminal.modes.showsCursor, false, 'the cursor is hidden while lines are drawn')
  screen.remove()
  assert.equal(terminal.modes.showsCursor, true)
})

test('a line that is wider than was counted spoils no other one', () => {
  const { screen, terminal } = onTerminal(10)
  screen.show([
    { text: 'x'.repeat(14), width: 9 },
    { text: 'next', width: 4 },
  ])
  screen.show([
    { text: 'y'.repeat(14), width: 9 },
    { text: 'next', width: 4 },
  ])
  assert.deepEqual([terminal.lines().length, terminal.lines()[1]], [2, 'next'])
})

test('after the terminal became narrower, the wrapped lines are erased as well', () => {
  const { screen, out, writes } = onTerminal(40)
  screen.show(drawn(['x'.repeat(35), 'short']))
  out.columns = 20
  screen.show(drawn(['x'.repeat(19), 'short']))
  // Two rows of the first line and one of the second: two up from the last.
  assert.ok(writes.at(-1)?.includes(`\r${ESC}2A${ESC}J`))
})

test('more lines than the screen has rows left make it scroll, and are still found again', () => {
  const { screen, terminal } = onTerminal(20, 5)
  for (let count = 1; count <= 4; count += 1) screen.above(`above ${count}\n`)
  screen.show(drawn(['a', 'b', 'c', 'd']))
  screen.show(drawn(['A', 'b', 'c', 'D']))
  assert.equal(terminal.text(), 'above 1\nabove 2\nabove 3\nabove 4\nA\nb\nc\nD')
})
