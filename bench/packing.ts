/** The files of a project made into one zip, as by `headland deploy`, beside `zip -r`. */
import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { filesOf } from '../src/cli/archive/files.ts'
import { withArchive } from '../src/cli/archive/pack.ts'
import { type Bench, IS_QUICK, median, Skipped } from './bench.ts'
import { temporaryFolder } from './service.ts'

const FILES = IS_QUICK ? 5000 : 50_000
const FOLDERS = 500
const ROUNDS = IS_QUICK ? 1 : 5

export const packing: Bench = {
  name: 'packing',
  what: `${FILES} files of source made into a zip by the command line, beside zip -r`,
  noise: 'CPU time of each, in turns, medians of five rounds',
  async run() {
    await using folder = await temporaryFolder()
    const project = join(folder.path, 'project')
    await makeProject(project)
    const few = join(folder.path, 'few')
    await makeProject(few, FILES / 10)
    const ms = { ours: [] as number[], few: [] as number[], peer: [] as number[] }
    for (let round = 0; round < ROUNDS; round++) {
      ms.ours.push(await pack(project))
      ms.few.push(await pack(few))
      ms.peer.push(await zip(project, join(folder.path, 'peer.zip')))
    }
    return [
      { what: 'CPU', unit: 'ms', ours: median(ms.ours), peer: median(ms.peer), goal: { of: 'ratio', max: 2 } },
      {
        what: 'CPU for a file',
        beside: 'a tenth of the files',
        unit: 'µs',
        ours: (median(ms.ours) * 1000) / FILES,
        peer: (median(ms.few) * 1000) / (FILES / 10),
        goal: { of: 'ratio', max: 1.3 },
      },
    ]
  },
}

const WORDS = 'import export const function return await async from props state render component default value'.split(
  ' ',
)

/** Text that deflates about as well as source does, the same in each run. */
async function makeProject(folder: string, count = FILES) {
  let seed = 1
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed % below
  }
  for (let at = 0; at < FOLDERS; at++) await mkdir(join(folder, `${at}`), { recursive: true })
  for (let at = 0; at < count; at++) {
    const length = 200 + random(4000)
    let text = ''
    while (text.length < length) text += `${WORDS[random(WORDS.length)]}${random(8) === 0 ? `_${random(1000)}\n` : ' '}`
    await writeFile(join(folder, `${at % FOLDERS}`, `${at}.js`), text)
  }
}

async function pack(project: string): Promise<number> {
  const before = process.cpuUsage()
  const { files } = await filesOf(project)
  return withArchive(
    files,
    async () => {
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    },
    new AbortController().signal,
  )
}

async function zip(project: string, to: string): Promise<number> {
  const script = 'zip --quiet --recurse-paths "$0" . && cat /proc/$$/stat'
  const { stdout } = await promisify(execFile)('sh', ['-c', script, to], { cwd: project }).catch((error) => {
    throw error.code === 127 ? new Skipped('apt-get install zip') : error
  })
  await rm(to)
  // After the name in parentheses: the CPU time of children that have ended is in the 14th and 15th field, in hundredths.
  const fields = stdout.slice(stdout.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}
