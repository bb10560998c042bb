/**
 * The pages of the guides, and how their commands are run: all ```sh blocks of a page, one after the other, in one
 * shell. Commands that cannot run on every machine are in blocks of another language.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { TIMEOUT_MS } from './until.ts'

export const TOP = fileURLToPath(new URL('../..', import.meta.url))

/** Pages that are longer than a guide, and end in something real. Each has a test of its own. */
export const TUTORIALS = 'docs/tutorials'

/** Relative to the project folder: the README, the guides, the pages for operators, and the tutorials. */
export async function guidePages(): Promise<string[]> {
  const folders = ['docs/guides', 'docs/operate', TUTORIALS]
  const found = await Promise.all(
    folders.map(async (folder) => (await readdir(join(TOP, folder))).map((name) => `${folder}/${name}`)),
  )
  return ['README.md', ...found.flat().filter((path) => path.endsWith('.md'))].sort()
}

export const readPage = (page: string): Promise<string> => readFile(join(TOP, page), 'utf8')

export type Block = { language: string; text: string; line: number }

/** Blocks inside a list item are indented. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^( *)```([\w-]*)\n(.*?)^\1```$/gms)].map(
    ([, indent = '', language = '', text = ''], index, all) => ({
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line: page.slice(0, all[index]?.index).split('\n').length,
    }),
  )
}

export const commandsOf = (page: string): string[] =>
  blocksOf(page)
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => text)

export type Shell = {
  /** The folder in which the commands run. */
  folder: string
  environment: Record<string, string>
}

/** The environment of a reader who follows a guide: `headland` on the path, and a home folder. */
export async function shellIn(folder: string, home: string, environment: Record<string, string>): Promise<Shell> {
  const bin = join(home, 'bin')
  await mkdir(bin, { recursive: true })
  const headland = `#!/bin/sh\nexec ${process.execPath} ${join(TOP, 'bin/headland')} "$@"\n`
  await writeFile(join(bin, 'headland'), headland, { mode: 0o755 })
  const path = [bin, dirname(process.execPath), process.env.PATH ?? ''].join(delimiter)
  return { folder, environment: { PATH: path, HOME: home, LANG: 'C.UTF-8', ...environment } }
}

const BETWEEN = '----- next block -----'

const scriptOf = (blocks: readonly string[], pause = ''): string =>
  `set -euo pipefail\n${blocks.join(`\necho '${BETWEEN}'${pause}\n`)}`

const printedBy = (stdout: string): string[] => stdout.split(`${BETWEEN}\n`).map((text) => text.trim())

/**
 * What each block printed. Fails with everything that was printed if one of them fails. The first command that reads
 * stdin gets `input`.
 */
export async function runBlocks(blocks: readonly string[], shell: Shell, input = ''): Promise<string[]> {
  const { folder, environment } = shell
  // Each block may run a build.
  const timeout = TIMEOUT_MS * blocks.length
  const options = { cwd: folder, env: environment, timeout, maxBuffer: 64 * 1024 * 1024 }
  const running = promisify(execFile)('bash', ['-c', scriptOf(blocks)], options)
  running.child.stdin?.end(input)
  const { stdout } = await running.catch((error) => {
    throw new Error(`${error.message}\n${error.stdout}`)
  })
  return printedBy(stdout)
}

/** The same, where the reader does something else after each block but the last, such as a click in a browser. */
export async function runBlocksWith(
  blocks: readonly string[],
  shell: Shell,
  { input = '', between }: { input?: string; between(printed: readonly string[]): unknown },
): Promise<string[]> {
  const signal = AbortSignal.timeout(TIMEOUT_MS * blocks.length)
  // It goes on with the next block when it has read a line there.
  const script = scriptOf(blocks, '; read -r <&3')
  const child = spawn('bash', ['-c', script], {
    cwd: shell.folder,
    env: shell.environment,
    signal,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  const goOn = child.stdio[3] as Writable
  child.stdin?.end(input)
  let [stdout, stderr, seen] = ['', '', 0]
  const ended = Promise.withResolvers<void>()
  child.on('error', ended.reject)
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    const printed = printedBy(stdout).slice(0, -1)
    if (printed.length === seen) return
    seen = printed.length
    Promise.resolve(between(printed)).then(() => goOn.write('\n'), ended.reject)
  })
  child.on('close', (code) => {
    if (code === 0) ended.resolve()
    else ended.reject(new Error(`ended with ${code}:\n${stderr}\n${stdout}`))
  })
  try {
    await ended.promise
  } finally {
    child.kill()
  }
  return printedBy(stdout)
}

export type Typed = [question: RegExp, answer: string]

/** The same in a terminal, where each question gets the first of the given answers that matches it. */
export async function typeBlocks(blocks: readonly string[], shell: Shell, typed: readonly Typed[]): Promise<string> {
  const file = join(shell.environment.HOME ?? shell.folder, 'typed.sh')
  await writeFile(file, scriptOf(blocks))
  const child = spawn('script', ['-qfec', `bash ${file}`, '/dev/null'], {
    cwd: shell.folder,
    env: { ...shell.environment, TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  let [all, answered] = ['', 0]
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    all = (all + text).replaceAll(CURSOR, '')
    const [, answer] = typed.find(([question]) => question.test(all.slice(answered))) ?? []
    if (answer === undefined) return
    answered = all.length
    child.stdin.write(`${answer}\r`)
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`ended with ${code}:\n${all}`)
  return all
}

/** Escape sequences that move the cursor or set colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it matches
const CURSOR = /\x1b\[[0-?]*[ -/]*[@-~]/g
