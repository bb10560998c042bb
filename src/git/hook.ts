/**
 * The only hook that is ever run: the service's own, in a folder that git cannot write to. It hands what was received to the
 * control process over a Unix socket beside it, writes what it is told to, and ends as it is told to.
 */
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { removeTree } from '../base/index.ts'
import type { Mount } from '../engines/index.ts'
import { type RefUpdate, readUpdates } from './updates.ts'

/** What git received, before it accepts it. */
export type Received = {
  updates: RefUpdate[]
  /** The folder with the new objects, within the repository's folder of objects; empty where there are none. */
  quarantine: string
  /** What the pusher gave with `--push-option`. */
  options: string[]
}

/** The pusher, who sees what `say` gets. The signal is aborted when the pusher is gone. */
export type Pusher = { say(line: string): void; signal: AbortSignal }

/** Resolves to whether what was received is accepted. */
export type Decide = (received: Received, pusher: Pusher) => Promise<boolean>

/** Where jobs see the folder. */
export const HOOKS = '/push'

const MAX_OPTIONS = 20

const SCRIPT = `#!/bin/sh
exec "$HEADLAND_NODE" --no-warnings "$HEADLAND_HOOKS/hook.mjs"
`
const PROGRAM = `import { readFileSync, writeSync } from 'node:fs'
import { connect } from 'node:net'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'

const { HEADLAND_HOOKS, GIT_QUARANTINE_PATH = '', GIT_PUSH_OPTION_COUNT = '0' } = process.env
const count = Math.min(Number(GIT_PUSH_OPTION_COUNT), ${MAX_OPTIONS})
const options = Array.from({ length: count }, (_, at) => process.env['GIT_PUSH_OPTION_' + at])
const received = { updates: readFileSync(0, 'utf8'), quarantine: basename(GIT_QUARANTINE_PATH), options }
const socket = connect(HEADLAND_HOOKS + '/socket')
const end = (code) => process.exit(code)
socket.on('error', () => end(1))
socket.on('close', () => end(1))
socket.write(JSON.stringify(received) + '\\n')
createInterface({ input: socket }).on('line', (line) => {
  const { text, exit } = JSON.parse(line)
  if (text !== undefined) writeSync(2, text + '\\n')
  if (exit !== undefined) end(exit)
})
`

const MAX_LINE_BYTES = 1024 * 1024

/** The folder for one push. It is removed with the connection of the hook. */
export async function openHook(parent: string, decide: Decide) {
  const folder = await mkdtemp(join(parent, 'push-'))
  await chmod(folder, 0o755)
  await writeFile(join(folder, 'pre-receive'), SCRIPT, { mode: 0o755 })
  await chmod(join(folder, 'pre-receive'), 0o755)
  await writeFile(join(folder, 'hook.mjs'), PROGRAM, { mode: 0o644 })
  const answering = new Set<Promise<void>>()
  const server = createServer((socket) => {
    // One push has one call of the hook.
    server.close()
    const answered = answer(socket, decide)
    answering.add(answered)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(join(folder, 'socket'), resolve)
  })
  await chmod(join(folder, 'socket'), 0o666)
  const mount: Mount = { from: folder, to: HOOKS, isWritable: false }
  return {
    mount,
    async close() {
      server.close()
      await Promise.all(answering)
      await removeTree(folder)
    },
  }
}

async function answer(socket: Socket, decide: Decide) {
  socket.on('error', () => socket.destroy())
  const tell = (message: { text: string } | { exit: number }) => {
    if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`)
  }
  try {
    const received = readReceived(await firstLine(socket))
    const gone = new AbortController()
    socket.once('close', () => gone.abort())
    const isAccepted = await decide(received, { say: (text) => tell({ text }), signal: gone.signal })
    tell({ exit: isAccepted ? 0 : 1 })
  } catch {
    // `decide` tells the pusher of its own failures.
    tell({ exit: 1 })
  } finally {
    socket.end()
  }
}

function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    socket.on('data', (chunk) => {
      bytes += chunk.length
      if (bytes > MAX_LINE_BYTES) socket.destroy()
    })
    createInterface({ input: socket }).once('line', resolve)
    socket.once('close', () => reject(new Error('the hook is gone')))
  })
}

/** What comes out of a sandbox is read like what comes from anywhere. */
function readReceived(line: string): Received {
  const { updates, quarantine, options } = JSON.parse(line) as Record<string, unknown>
  return {
    updates: readUpdates(String(updates)),
    quarantine: String(quarantine),
    options: Array.isArray(options) ? options.map(String) : [],
  }
}
