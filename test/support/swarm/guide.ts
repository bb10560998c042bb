/**
 * Follows docs/operate/cluster.md: its commands, in their order, on machines with its names and addresses, and its files. Only what
 * the operator has from elsewhere is filled in.
 */
import assert from 'node:assert/strict'
import { type Block, blocksOf, readPage } from '../guides.ts'
import { until } from '../until.ts'
import type { GuideMachine } from './guide-machine.ts'

const PAGE = 'docs/operate/cluster.md'

/** Sections that no test runs, and why. */
export const NOT_RUN: Record<string, string> = {
  '1. Packages':
    'the machines of the test have the programs of this one, and no systemd: what units do is done by the test',
  'Drain a node': 'faults.test.ts drains a node, by the same command',
  'Remove a node': 'it follows a drained node',
}

type Settings = Record<string, string>
type Line = { machine: string; command: string }

type Parts = {
  /** A machine of the page by its name; it is made when it is first needed. */
  machineOf(name: string): Promise<GuideMachine>
  /** Settings with addresses and passwords of what the operator runs: database, object store, registry. */
  own: Settings
  /** Settings of the test itself. */
  more: Settings
}

export async function openGuide({ machineOf, own, more }: Parts) {
  const text = await readPage(PAGE)
  const sections = sectionsOf(text)
  const layout = layoutOf(text)
  const waiting = new Set(sections.flatMap(({ title, blocks }) => (title in NOT_RUN ? [] : blocks)))
  const files = new Map<string, Block>()
  for (const block of waiting)
    if (block.language === 'json') files.set((JSON.parse(block.text) as { roles: string }).roles, block)
  const tokens = new Map<string, string>()
  let printed = ''
  let swarmToken = ''
  let masterKey = ''

  /** The file of a role, as a reader makes it from the page. */
  function settingsOf(role: string, { hostname, address }: GuideMachine): Settings {
    const block = files.get(role)
    assert.ok(block, `the page has the headland.json of ${role}`)
    waiting.delete(block)
    const written = JSON.parse(block.text) as Settings
    const [first = ''] = layout.map((machine) => machine.address)
    const filled = Object.entries(written).map(([name, value]): [string, string] => {
      if (name in own) return [name, own[name] as string]
      if (name === 'masterKey') return [name, masterKey]
      if (name === 'clusterToken') return [name, tokens.get(`${role} ${hostname}`) ?? '']
      return [name, ['listen', 'clusterListen', 'inAppListen'].includes(name) ? value.replace(first, address) : value]
    })
    return { ...Object.fromEntries(filled), ...('registry' in written ? more : {}) }
  }

  async function systemctl(machine: GuideMachine, command: string) {
    const [, verb, role = ''] = /^systemctl (enable --now|reload|disable --now) headland@(\w+)$/.exec(command) ?? []
    assert.ok(verb, `the test knows what this does: ${command}`)
    if (verb === 'reload') return machine.reload(role)
    if (verb === 'disable --now') return machine.stop(role)
    await machine.configure(role, settingsOf(role, machine))
    await machine.start(role)
  }

  function remember(command: string, output: string) {
    printed = output
    if (command.startsWith('docker swarm join-token')) swarmToken = output
    const [, role, name] = /^headland cluster token (\w+) (\S+)$/.exec(command) ?? []
    if (role !== undefined) tokens.set(`${role} ${name}`, output)
    if (command.startsWith('openssl')) masterKey = output
  }

  /** Commands for one machine in a row are of one shell. */
  async function runLines(lines: readonly Line[]) {
    for (let at = 0; at < lines.length; ) {
      const { machine: name, command } = lines[at] as Line
      const machine = await machineOf(name)
      if (command.startsWith('systemctl')) {
        await systemctl(machine, command)
        at += 1
        continue
      }
      const isNext = (line: Line) => line.machine !== name || line.command.startsWith('systemctl')
      const next = lines.findIndex((line, index) => index > at && isNext(line))
      const commands = lines.slice(at, next === -1 ? undefined : next).map((line) => line.command)
      const ready = commands.map((one) => one.replace('TOKEN', swarmToken))
      // The page says that this one is refused for some seconds.
      const outputs = command.startsWith('docker node rm')
        ? await until(() => machine.run(ready).catch(() => undefined), 'the node is removed')
        : await machine.run(ready)
      for (const [index, output] of outputs.entries()) remember(commands[index] as string, output)
      at += commands.length
    }
  }

  return {
    /** All that is between this heading and the next. Resolves to what the last command printed. */
    async follow(title: string): Promise<string> {
      const section = sections.find((one) => one.title === title)
      assert.ok(section, `the page has a section ${title}`)
      const role = section.blocks.flatMap((block) => (block.language === 'json' ? JSON.parse(block.text).roles : []))[0]
      const all = layout.filter(({ roles }) => role === undefined || roles.includes(role)).map(({ name }) => name)
      for (const block of section.blocks.filter(({ language }) => language === 'console')) {
        await runLines(linesOf(block, all))
        waiting.delete(block)
      }
      return printed
    },
    steps: sections.map(({ title }) => title).filter((title) => /^\d/.test(title) && !(title in NOT_RUN)),
    layout,
    /** Blocks that were not needed yet. */
    notFollowed: () => [...waiting].map(({ line, text: block }) => `${PAGE}:${line}: ${block.split('\n')[0]}`),
  }
}

/** `paris-1# COMMAND` is for that machine, `# COMMAND` for each of them. */
function linesOf({ text }: Block, all: readonly string[]): Line[] {
  return text
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, name = '', command = ''] = /^([\w-]*)# (.+)$/.exec(line) ?? []
      assert.ok(command, `it says where it is run: ${line}`)
      return (name === '' ? all : [name]).map((machine) => ({ machine, command }))
    })
}

function sectionsOf(text: string): { title: string; blocks: Block[] }[] {
  const headings = [...text.matchAll(/^## (.+)$/gm)].map(({ 1: title = '', index }) => ({
    title,
    line: text.slice(0, index).split('\n').length,
  }))
  const blocks = blocksOf(text)
  return headings.map(({ title, line }, at) => ({
    title,
    blocks: blocks.filter((block) => block.line > line && block.line < (headings[at + 1]?.line ?? Number.MAX_VALUE)),
  }))
}

/** The table of machines. */
const layoutOf = (text: string) =>
  [...text.matchAll(/^\| `([\w-]+)` \| ([\d.]+) \| ([\w, ]+) \|$/gm)].map(
    ([, name = '', address = '', roles = '']) => ({
      name,
      address,
      roles: roles.split(', '),
    }),
  )
