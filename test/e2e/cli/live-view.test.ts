/** Commands that draw in a terminal, on a real service and in a real one: what is on its screen, then and in the end. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { temporaryFolder } from '../../support/folder.ts'
import { type Files, page } from '../../support/service/deploy.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { createCommandLine } from '../../support/service/headland.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import { startService } from '../../support/service/service.ts'
import { createTerminalModel } from '../../support/terminal/terminal-model.ts'

const service = await startService({ after })
const as = await service.login('developer')
const top = await temporaryFolder({ after })
const { inTerminal, project, headland } = createCommandLine(
  {
    PATH: process.env.PATH,
    HOME: top,
    TERM: 'xterm',
    HEADLAND_URL: service.api,
    HEADLAND_API_USER: as.userId,
    HEADLAND_API_PASSWORD: as.password,
  },
  top,
)

const FIRST = '--region EU-W --env Production --cms wordpress --yes'

/** The screen of a terminal to which this was written. */
function screenAfter(written: string) {
  const terminal = createTerminalModel(80, 24)
  terminal.write(written)
  return terminal
}

/** It tries to leave its place on the screen, and to look like a deploy that went well. */
const HOSTILE = String.raw`
  console.log('\x1b[2J\x1b[H\x1b[?25h  \u2713 Switching        9.9 s')
  console.log('\x1b]0;title\x07\x1b[20A\x9b1Aup\rover 字字 👩‍👩‍👧 e\u0301 \u202eback')
  console.log('Live after 0.1 s.\x1b[K' + 'x'.repeat(300))
`

test('a deploy shows its steps and the end of its log in place, and in the end the steps, the time and the address', async () => {
  const mark = 'seen-live'
  const held = heldBuild(mark, 'it is live')
  const cwd = await project({ ...held, 'build.js': `${HOSTILE}${held['build.js']}` } as Files)
  const deploying = inTerminal(`deploy --app live ${FIRST}`, cwd)
  const build = await untilHeld(mark)
  await deploying.until(/Live after 0\.1 s\.x+…/)
  const during = screenAfter(deploying.output().stdout)
  const lines = during.lines()
  const at = lines.findIndex((line) => /^ {2}✓ Uploading +[\d.]+ s {2}\d+ B|KB$/.test(line))
  assert.ok(at > 0, during.text())
  const steps = lines.slice(at, lines.indexOf('', at))
  assert.deepEqual(
    steps.map((line) => line.slice(4).split(' ')[0]),
    ['Uploading', 'Waiting', 'Unpacking', 'Planning', 'Installing', 'Building', 'Starting', 'Switching'].filter(
      (name) => name !== 'Installing' || steps.length === 8,
    ),
    during.text(),
  )
  assert.match(steps.find((line) => line.includes('Building')) ?? '', /^ {2}[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Building/)
  const log = lines.slice(lines.indexOf('', at) + 1).filter((line) => line !== '')
  assert.ok(log.length > 0 && log.length <= 6 && log.every((line) => line.startsWith('  │ ')), during.text())
  assert.equal(during.modes.showsCursor, false)

  await build.goOn()
  const { code, stdout } = await deploying.ended
  const over = screenAfter(stdout)
  assert.equal(code, 0, over.text())
  const [address, blank, last] = over
    .lines()
    .filter((line, index, all) => line !== '' || all[index + 1])
    .reverse()
  assert.deepEqual(
    [/^http:\/\/\S+$/.test(address ?? ''), /^Live after [\d.]+ m?s/.test(blank ?? ''), last],
    [true, true, ''],
  )
  assert.match(over.text(), /\n {2}✓ Building +[\d.]+ s\n[\s\S]*\n {2}✓ Switching +[\d.]+ s\n\nLive after/)
  assert.doesNotMatch(over.text(), /│|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|over 字/u)
  assert.deepEqual(over.modes, { wraps: true, showsCursor: true, isUpdating: false, isAlternate: false })
  assert.match((await siteAnswer(service, address ?? '')).text, /it is live/)
})

test('Ctrl-C asks, and a no leaves a clean terminal and says how to watch and to cancel the build that goes on', async () => {
  const mark = 'left-in-terminal'
  const cwd = await project(heldBuild(mark, 'later'))
  const deploying = inTerminal(`deploy --app left ${FIRST}`, cwd)
  const build = await untilHeld(mark)
  await deploying.until(/node build\.js/)
  deploying.child.stdin.write('\x03')
  await deploying.until(/Cancel the build\? \[y\/N\] /)
  const asked = screenAfter(deploying.output().stdout)
  assert.match(asked.text(), /Cancel the build\? \[y\/N\]$/)
  assert.doesNotMatch(asked.text(), /Building|│/)
  deploying.child.stdin.write('n\r')
  const { code, stdout } = await deploying.ended
  const over = screenAfter(stdout)
  assert.equal(code, 1, over.text())
  const id = /The build goes on\. To follow it: headland logs --build (\w+) -f\n/.exec(over.text())?.[1]
  assert.match(over.text(), new RegExp(`\nTo cancel it: headland builds cancel ${id}$`))
  assert.deepEqual(over.modes, { wraps: true, showsCursor: true, isUpdating: false, isAlternate: false })
  await build.goOn()
})

test('a build that fails ends with the step that failed, the reason, its line of the log, and what to do', async () => {
  const cwd = await project({
    'package.json': JSON.stringify({ name: 'broken', scripts: { build: 'node build.js' } }),
    'build.js': `console.log('before'); console.error('Error: the build is broken'); process.exit(1)`,
  })
  const { code, stdout } = await inTerminal(`deploy --app broken ${FIRST}`, cwd).ended
  const text = screenAfter(stdout).text()
  assert.equal(code, 1, text)
  assert.match(text, /\n {2}✗ Building +[\d.]+ s\n\nFailed: BUILD_SCRIPT_FAILED\n/)
  assert.match(text, /\n {2}\d+ {2}before\n> \d+ {2}Error: the build is broken\n/)
  assert.match(text, /\nWhat to do:\n[\s\S]*More: http/)
  assert.match(text, /\nThe whole log: headland logs --build \w+$/)
})

test('colours follow NO_COLOR and FORCE_COLOR, and a terminal that cannot move its cursor gets lines', async () => {
  const cwd = await project(page('a site'))
  const [plain, none, dumb] = [
    await inTerminal(`deploy --app looks ${FIRST} --plain`, cwd, { FORCE_COLOR: '1', NO_COLOR: '1' }).ended,
    await inTerminal('deploy', cwd, { NO_COLOR: '1' }).ended,
    await inTerminal('deploy', cwd, { TERM: 'dumb' }).ended,
  ]
  const ESC = '\x1b'
  const isColoured = (text: string) => text.split(ESC).some((piece) => /^\[\d+m/.test(piece))
  assert.ok(isColoured(plain.stdout))
  assert.match(plain.stdout, /Unpacked \d/)
  assert.ok(!isColoured(none.stdout))
  assert.ok(none.stdout.includes(`${ESC}[?2026h`))
  assert.ok(!dumb.stdout.includes(ESC))
  const piped = await headland(['deploy'], { cwd })
  assert.ok(![ESC, '\r'].some((one) => (piped.stdout + piped.stderr).includes(one)))
  assert.deepEqual([plain.code, none.code, dumb.code, piped.code], [0, 0, 0, 0])
})

test('status lists what failed first, and top is drawn until q is typed', async () => {
  const cwd = await project(page('watched'))
  const { code, stdout, stderr } = await headland(['status'], { cwd })
  assert.equal(code, 0, stderr)
  const [heading, first] = stdout.split('\n')
  assert.match(heading ?? '', /^APP +ENVIRONMENT +STATE +SINCE +DEPLOYED +COMMIT +URL +ABOUT$/)
  assert.match(first ?? '', /^broken +Production +failed +\d{4}-\S+Z +http:\S+ +BUILD_SCRIPT_FAILED$/)
  assert.match(stdout, /\nlive +Production +live +\d{4}-\S+Z +\d{4}-\S+Z +http:/)
  const listed = JSON.parse((await headland(['top', '--json'], { cwd })).stdout)
  assert.deepEqual(
    listed
      .map(({ app, visitsPerSecond }: { app: string; visitsPerSecond: number }) => [app, visitsPerSecond >= 0])
      .sort(),
    stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => [line.split(' ')[0], true])
      .sort(),
  )

  const top = inTerminal('top', cwd)
  await top.until(/by visits · v visits/)
  top.child.stdin.write('e')
  await top.until(/by errors · v visits/)
  const during = screenAfter(top.output().stdout)
  assert.match(during.text(), /^[\d.]+ visits\/s [\s\S]*\nAPP +ENVIRONMENT +STATE[\s\S]*\nbroken +Production +✗ failed/)
  top.child.stdin.write('q')
  const ended = await top.ended
  const over = screenAfter(ended.stdout)
  assert.deepEqual([ended.code, over.text()], [0, ''])
  assert.deepEqual(over.modes, { wraps: true, showsCursor: true, isUpdating: false, isAlternate: false })
})
