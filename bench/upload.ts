/** An upload of 500 MB, checked and kept, beside a bare server that writes the body to disk and hashes it. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Bench, median } from './bench.ts'
import { createApp, createEnvironment } from './client.ts'
import { memoryOf } from './cpu.ts'
import { end, logIn, ready, startService, temporaryFolder } from './service.ts'

const ROUNDS = 3
const MEGABYTES = 500

export const upload: Bench = {
  name: 'upload',
  what: `upload of ${MEGABYTES} MB, beside a bare server that streams to disk and hashes`,
  noise: 'three uploads to each in turns, medians; both write to the same disk',
  async run() {
    await using folder = await temporaryFolder()
    const zip = await makeArchive(folder.path)
    await using service = await startService(join(folder.path, 'data'))
    const headers = await logIn(join(folder.path, 'data'))
    const caller = { api: service.api, headers }
    await createApp(caller, 'shop')
    const { name } = await createEnvironment(caller, 'shop')
    await using bare = await startBare(join(folder.path, 'bare.bin'))
    // Checked and planned like any upload, but not built: a build would disturb the next round.
    const target = `${service.api}/fu/v1/${name}:upload?validateOnly=true`

    const rates = { ours: [] as number[], peer: [] as number[] }
    const before = memoryOf(service.controlPid).rss
    let max = before
    const watching = setInterval(() => {
      max = Math.max(max, memoryOf(service.controlPid).rss)
    }, 50)
    for (let round = 0; round < ROUNDS; round++) {
      rates.peer.push(await send(zip, bare.url, headers.authorization))
      rates.ours.push(await send(zip, target, headers.authorization))
    }
    clearInterval(watching)
    return [
      {
        what: 'rate',
        unit: 'MB/s',
        ours: median(rates.ours),
        peer: median(rates.peer),
        goal: { of: 'ratio', min: 0.7 },
      },
      { what: 'growth of resident memory', unit: 'MB', ours: max - before, goal: { of: 'ours', max: 40 } },
    ]
  },
}

/** Stored, not deflated: the bench measures the transfer of bytes, not compression. */
async function makeArchive(folder: string): Promise<string> {
  const zip = join(folder, 'large.zip')
  const names = ['index.html']
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>x</title>')
  for (let part = 0; part < MEGABYTES / 10; part++) {
    await writeFile(join(folder, `part-${part}.bin`), randomBytes(10_000_000))
    names.push(`part-${part}.bin`)
  }
  await promisify(execFile)('zip', ['-0', '-q', zip, ...names], { cwd: folder })
  return zip
}

/** Megabytes per second, until the response. */
async function send(zip: string, url: string, authorization: string): Promise<number> {
  const { stdout } = await promisify(execFile)('curl', [
    ...['-s', '-o', '/dev/null', '-w', '%{http_code} %{speed_upload}', '-H', `Authorization: ${authorization}`],
    ...['-H', 'Expect:', '-F', `repository=@${zip}`, url],
  ])
  const [status, bytesPerSecond] = stdout.split(' ')
  assert.equal(status, '200')
  return Number(bytesPerSecond) / 1e6
}

async function startBare(file: string) {
  const program = fileURLToPath(new URL('./bare-receiver.ts', import.meta.url))
  const child = spawn(process.execPath, [program, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { url } = await ready(child)
  return { url: String(url), [Symbol.asyncDispose]: () => end(child) }
}
