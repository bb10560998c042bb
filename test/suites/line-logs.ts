/** Logs of programs, wherever their lines are stored. */
import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import type { LineLogOptions, LineLogs } from '../../src/storage/index.ts'
import { until } from '../support/until.ts'

export type LogsOfTest = {
  open(t: TestContext): Promise<LineLogs>
  /** Nothing can be written to the log “build” until the test mends that. */
  openUnwritable(t: TestContext): Promise<{ logs: LineLogs; mend(): Promise<unknown> }>
}

const OPTIONS: LineLogOptions = {
  secrets: ['hunter2', 'first line\nsecond line'],
  whenFull: 'stop',
  maxBytes: 1_000_000,
}

const textsOf = (lines: { text: string }[]): string[] => lines.map(({ text }) => text)

function helpersOf({ open, openUnwritable }: LogsOfTest) {
  async function setUp(t: TestContext, options: Partial<LineLogOptions> = {}) {
    const logs = await open(t)
    return { logs, log: await logs.create('build', { ...OPTIONS, ...options }) }
  }

  async function setUpUnwritable(t: TestContext) {
    const { logs, mend } = await openUnwritable(t)
    return { logs, mend, log: await logs.create('build', OPTIONS) }
  }

  async function written(t: TestContext, ...chunks: (string | Buffer)[]): Promise<string[]> {
    const { logs, log } = await setUp(t)
    for (const chunk of chunks) log.write('stdout', 'BUILDING', Buffer.from(chunk))
    await log.close()
    return (await logs.read('build', 0)).map(({ text }) => text)
  }

  return { setUp, setUpUnwritable, written }
}

export function lineLogsSuite(name: string, opened: LogsOfTest) {
  const helpers = helpersOf(opened)
  suite(`logs in ${name}`, () => {
    testTexts(helpers)
    testLimits(helpers)
    testWriters(helpers)
  })
}

type Helpers = ReturnType<typeof helpersOf>

function testTexts({ setUp, written }: Helpers) {
  test('lines are numbered and timed, and have their stream and phase', async (t) => {
    const { logs, log } = await setUp(t)
    log.say('PLANNING', 'Found Next.js.')
    log.write('stderr', 'BUILDING', Buffer.from('warning\n'))
    await log.close()
    const lines = await logs.read('build', 0)
    assert.deepEqual(
      lines.map(({ number, stream, phase, text }) => [number, stream, phase, text]),
      [
        [1, 'service', 'PLANNING', 'Found Next.js.'],
        [2, 'stderr', 'BUILDING', 'warning'],
      ],
    )
    assert.ok(lines.every(({ time }) => time > 1_700_000_000_000))
  })

  test('a line cut anywhere is one line, also in the middle of a character', async (t) => {
    const euro = Buffer.from('€ 5\n')
    assert.deepEqual(await written(t, 'pr', 'ice ', euro.subarray(0, 1), euro.subarray(1), 'end'), ['price € 5', 'end'])
  })

  test('secrets are replaced before anything is written, each line of a long one too', async (t) => {
    assert.deepEqual(await written(t, 'key=hun', 'ter2!\nfirst line\nsecond line\n'), [
      'key=[secret]!',
      '[secret]',
      '[secret]',
    ])
  })

  test('terminal escapes, control characters and text direction marks are taken out', async (t) => {
    assert.deepEqual(await written(t, '\u001b[31mred\u001b[0m\u0007\u202e!\n10 %\r50 %\r100 %\r\n'), ['red!', '100 %'])
  })

  test('a secret that is coloured in the middle is still found', async (t) => {
    assert.deepEqual(await written(t, 'hun\u001b[1mter2\n'), ['[secret]'])
  })

  test('a line without an end does not grow in memory, and is cut once', async (t) => {
    const lines = await written(t, ...Array.from({ length: 200 }, () => 'x'.repeat(10_000)), '\nnext\n')
    assert.equal(lines.length, 2)
    assert.match(lines[0] ?? '', /^x+… \(cut\)$/)
    assert.equal(lines[1], 'next')
  })

  test('a secret that something invisible stands in is still found', async (t) => {
    assert.deepEqual(await written(t, 'hun\u0000ter2 hunter\u202e2\n'), ['[secret] [secret]'])
  })

  test('a secret that begins before the cut of an endless line is hidden, however it arrives', async (t) => {
    const [line = ''] = await written(t, 'x'.repeat(8188), 'hun', 'ter2', 'y'.repeat(10_000), '\n')
    assert.doesNotMatch(line, /hun/)
  })

  test('the rest of a line that was cut is left out: it may begin in the middle of a secret', async (t) => {
    const lines = await written(t, `${'x'.repeat(9000)}hun`, 'ter2\nnext\n')
    assert.deepEqual(lines.slice(1), ['next'])
  })

  test('lines with nothing in them are not kept', async (t) => {
    assert.deepEqual(await written(t, 'one\n\n \ntwo\n'), ['one', 'two'])
  })
}

function testLimits({ setUp, setUpUnwritable }: Helpers) {
  test('a log that is full says so and keeps no more than the last lines, where the error stands', async (t) => {
    const { logs, log } = await setUp(t, { maxBytes: 2000 })
    for (let line = 0; line < 10_000; line++) log.write('stdout', 'BUILDING', Buffer.from(`line ${line}\n`))
    log.write('stderr', 'BUILDING', Buffer.from('Error: hunter2 is wrong\n'))
    const bytesBefore = await logs.bytesOf('build')
    assert.ok(bytesBefore < 10_000, `${bytesBefore} bytes`)
    await log.close()
    const lines = await logs.read('build', 0)
    const texts = lines.map(({ text }) => text)
    assert.equal(texts.at(-1), 'Error: [secret] is wrong')
    const full = texts.findIndex((text) => text.startsWith('The log is full'))
    assert.ok(full > 0 && full < 100)
    assert.match(texts[full + 1] ?? '', /^\d+ lines are left out here/)
    assert.ok(lines.length < 4000, `${lines.length} lines`)
    assert.deepEqual(
      lines.map(({ number }) => number),
      lines.map((_, n) => n + 1),
    )
  })

  test('the last lines of a full log are there for the diagnosis of a failure', async (t) => {
    const { log } = await setUp(t, { maxBytes: 2000 })
    for (let line = 0; line < 1000; line++) log.write('stdout', 'BUILDING', Buffer.from(`line ${line}\n`))
    const since = log.lastNumber() + 1
    log.write('stderr', 'BUILDING', Buffer.from('Error: no moon\n'))
    assert.equal((await log.linesAfter(0)).at(-1)?.text, 'Error: no moon')
    assert.ok(log.provingLine(since) > 0)
    await log.close()
  })

  test('a log that keeps its tail stays bounded, and its numbers go on', async (t) => {
    const { logs, log } = await setUp(t, { whenFull: 'rotate', maxBytes: 10_000 })
    for (let line = 1; line <= 300; line++) {
      log.say('', `line ${line}`)
      // No faster than the disk: another test covers floods.
      if (line % 10 === 0) await until(async () => (await logs.read('build', line - 1)).length > 0, 'it is written')
    }
    await log.close()
    const lines = await logs.read('build', 0)
    assert.equal(lines.at(-1)?.number, 300)
    assert.ok(lines.length < 200)
  })

  test('a flood is left out in part, which is reported, and does not grow in memory', async (t) => {
    const { logs, log } = await setUp(t, { whenFull: 'rotate', maxBytes: 10_000 })
    for (let line = 0; line < 10_000; line++) log.say('', `line ${line}`)
    await log.close()
    const again = await logs.create('build', { ...OPTIONS, whenFull: 'rotate', maxBytes: 10_000 })
    again.say('', 'after the flood')
    await again.close()
    const lines = await logs.read('build', 0)
    assert.ok(lines.length < 100)
    assert.equal(lines.at(-1)?.text, 'after the flood')
  })

  test('what the disk refuses can be read by its writer all the same', async (t) => {
    const { logs, log } = await setUpUnwritable(t)
    log.say('', 'one')
    log.say('', 'two')
    assert.deepEqual(textsOf(await log.linesAfter(1)), ['two'])
    assert.deepEqual(await logs.read('build', 0), [])
    await log.close()
  })

  test('what the disk refused is written once it can be', async (t) => {
    const { logs, log, mend } = await setUpUnwritable(t)
    log.say('', 'one')
    await log.linesAfter(0)
    await mend()
    log.say('', 'two')
    await log.close()
    assert.deepEqual(textsOf(await logs.read('build', 0)), ['one', 'two'])
  })

  test('what the disk refuses does not grow in memory', async (t) => {
    const { logs, log, mend } = await setUpUnwritable(t)
    log.say('', 'first')
    await log.linesAfter(0)
    for (let line = 0; line < 2000; line++) log.say('', 'x'.repeat(1000))
    assert.ok((await log.linesAfter(0)).length < 1200)
    await mend()
    await log.close()
    assert.equal((await logs.read('build', 0))[0]?.text, 'first')
  })
}

function testWriters({ setUp }: Helpers) {
  test('a log that is opened again goes on with the next number', async (t) => {
    const { logs, log } = await setUp(t)
    log.say('', 'one')
    await log.close()
    const again = await logs.create('build', OPTIONS)
    again.say('', 'two')
    await again.close()
    assert.deepEqual(
      (await logs.read('build', 1)).map(({ number, text }) => [number, text]),
      [[2, 'two']],
    )
  })

  test('a follower gets what is there, then each line as it comes, and ends with the log', async (t) => {
    const { logs, log } = await setUp(t)
    let isOver = false
    log.say('', 'one')
    log.say('', 'two')
    const seen: string[] = []
    const following = (async () => {
      const lines = logs.follow('build', 1, async () => isOver, new AbortController().signal)
      for await (const { text } of lines) {
        seen.push(text)
        if (text === 'two') log.say('', 'three')
        if (text === 'three') {
          await log.close()
          isOver = true
        }
      }
    })()
    await following
    assert.deepEqual(seen, ['two', 'three'])
  })

  test('a follower that goes away leaves nothing behind', async (t) => {
    const { logs, log } = await setUp(t)
    const leaving = new AbortController()
    const lines = logs.follow('build', 0, async () => false, leaving.signal)
    const next = lines.next()
    leaving.abort()
    assert.equal((await next).done, true)
    await log.close()
  })

  test('two writers of one log share its numbers, each with its own secrets', async (t) => {
    const { logs, log } = await setUp(t)
    const other = await logs.create('build', { ...OPTIONS, secrets: ['swordfish'] })
    log.say('', 'hunter2 swordfish')
    other.say('', 'hunter2 swordfish')
    await log.close()
    other.say('', 'still here')
    await other.close()
    assert.deepEqual(
      (await logs.read('build', 0)).map(({ number, text }) => [number, text]),
      [
        [1, '[secret] swordfish'],
        [2, 'hunter2 [secret]'],
        [3, 'still here'],
      ],
    )
  })

  test('a log whose program has ended takes what the service says, and the next program, all with the same secrets', async (t) => {
    const { logs, log } = await setUp(t, { whenFull: 'rotate' })
    await log.prepare()
    log.write('stdout', '', Buffer.from('one hunter2\n'))
    log.rest()
    log.say('', 'two hunter2')
    await log.write('stdout', '', Buffer.from('three hunter2\n'))
    await log.prepare()
    await log.prepare()
    log.rest()
    assert.equal(log.write('stdout', '', Buffer.from('four hunter2\nfive')), undefined)
    log.rest()
    await log.close()
    assert.deepEqual(textsOf(await logs.read('build', 0)), [
      'one [secret]',
      'two [secret]',
      'three [secret]',
      'four [secret]',
      'five',
    ])
  })

  test('the line that proves a failure is the first that speaks of an error since the step began', async (t) => {
    const { log } = await setUp(t)
    log.write('stderr', '', Buffer.from('error of an earlier step\n'))
    log.write('stdout', '', Buffer.from('working\nError: no moon\nat line 3\n'))
    assert.equal(log.provingLine(2), 3)
    log.write('stdout', '', Buffer.from('quiet\n'))
    assert.equal(log.provingLine(5), 5)
    assert.equal(log.provingLine(6), 0)
    await log.close()
  })

  test('logs are listed by their names, each once', async (t) => {
    const { logs } = await setUp(t)
    assert.deepEqual(await logs.list('runtime'), [])
    for (const name of ['runtime/a', 'runtime/b', 'builds/c']) {
      const log = await logs.create(name, { ...OPTIONS, whenFull: 'rotate', maxBytes: 200 })
      for (const text of ['one', 'two', 'three']) {
        log.say('', text)
        await log.linesAfter(0)
      }
      await log.close()
    }
    assert.deepEqual((await logs.list('runtime')).sort(), ['runtime/a', 'runtime/b'])
    assert.ok((await logs.bytesOf('runtime/a')) > 0)
    assert.equal(await logs.bytesOf('runtime/none'), 0)
  })

  test('the name of a log that would lead elsewhere is refused', async (t) => {
    const { logs } = await setUp(t)
    for (const name of ['../build', 'builds/../x', '', 'a/b/c']) {
      await assert.rejects(logs.create(name, OPTIONS), /not the name of a log/)
      await assert.rejects(logs.remove(name), /not the name of a log/)
    }
  })

  test('a log that is removed has no lines', async (t) => {
    const { logs, log } = await setUp(t)
    log.say('', 'one')
    await log.close()
    await logs.remove('build')
    assert.deepEqual(
      [await logs.read('build', 0), await logs.lastNumber('build'), await logs.bytesOf('build')],
      [[], 0, 0],
    )
  })
}
