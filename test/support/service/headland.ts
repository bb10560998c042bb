/** The command line as a process of its own: with pipes, or in a terminal with a user. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TIMEOUT_MS } from '../until.ts'
import type { Files } from './deploy.ts'

export const HEADLAND = fileURLToPath(new URL('../../../bin/headland', import.meta.url))

export type Run = { cwd: string; env?: Record<string, string | undefined>; input?: string }

/** `usual` is the environment of its processes, `top` the folder of its projects. */
export function createCommandLine(usual: Record<string, string | undefined>, top: string) {
  let count = 0

  function start(command: string, args: string[], { cwd, env = usual, input }: Run) {
    const child = spawn(command, args, {
      cwd,
      env: env as NodeJS.ProcessEnv,
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    })
    const output = { stdout: '', stderr: '' }
    let isOver = false
    let onMore = () => undefined as unknown
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        output[stream] += text
        onMore()
      })
    }
    if (input !== undefined) child.stdin.end(input)
    const ended = once(child, 'close').then(([code]) => {
      isOver = true
      onMore()
      return { code: code as number | null, ...output }
    })
    return {
      child,
      ended,
      /** What was printed so far. */
      output: () => output,
      /** Resolves when the pattern was printed, on either stream. */
      async until(pattern: RegExp) {
        while (!pattern.test(output.stdout + output.stderr)) {
          assert.ok(!isOver, `it ended before it printed ${pattern}: ${output.stdout}${output.stderr}`)
          await new Promise<void>((resolve) => {
            onMore = () => resolve()
          })
        }
      },
    }
  }

  const begin = (args: string[], run: Run) => start(process.execPath, [HEADLAND, ...args], run)

  return {
    begin,
    headland: (args: string[], run: Run) => begin(args, { input: '', ...run }).ended,
    /** `script` gives it a terminal. */
    inTerminal: (command: string, cwd: string, env: Run['env'] = {}) =>
      start('script', ['-qec', `exec "$NODE" "$HEADLAND" ${command}`, '/dev/null'], {
        cwd,
        env: { ...usual, ...env, NODE: process.execPath, HEADLAND },
      }),
    /** A new folder with these files. */
    async project(files: Files): Promise<string> {
      const folder = join(top, `project-${++count}`)
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true })
        await writeFile(join(folder, path), content as string)
      }
      return folder
    },
  }
}

export type CliEvent = { event: string; [fact: string]: unknown }

/** The events that were printed with `--json`. */
export const eventsOf = (stdout: string): CliEvent[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
