import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { createLog } from '../../base/index.ts'
import { openPortRanges, PORT_RANGES } from './port-ranges.ts'

async function setUp(t: TestContext) {
  const folder = await temporaryFolder(t)
  const kernelFile = join(folder, 'range')
  const file = join(folder, 'ports.json')
  await writeFile(kernelFile, '32768\t60999\n')
  return {
    file,
    open: () => openPortRanges({ file, kernelFile, log: createLog('silent') }),
    /** The range in which a Docker would begin that is started now. */
    async next() {
      const [first] = (await readFile(kernelFile, 'utf8')).split(/\s/)
      return PORT_RANGES.findIndex((range) => range.first === Number(first))
    },
    /** As at a start of the machine. */
    forget: () => writeFile(kernelFile, '32768\t60999\n'),
  }
}

const portIn = (index: number): number => (PORT_RANGES[index]?.first ?? 0) + 5

test('each start of Docker gets the range that was not used for the longest time', async (t) => {
  const { open, next } = await setUp(t)
  const ranges = await open()
  const used: number[] = []
  for (let start = 0; start < 6; start++) {
    const range = await next()
    used.push(range)
    await ranges.used([portIn(range), 8080])
    await ranges.used([portIn(range)])
  }
  assert.deepEqual(used, [0, 1, 2, 3, 0, 1])
})

test('the order outlives the process and a start of the machine', async (t) => {
  const { open, next, forget } = await setUp(t)
  await (await open()).used([portIn(0)])
  await forget()
  await open()
  assert.equal(await next(), 1)
})

test('a new process does not choose the range that Docker uses', async (t) => {
  const { open, next } = await setUp(t)
  await (await open()).used([portIn(0)])
  // Docker was started while no process looked, and counts in range 1.
  const later = await open()
  await later.used([portIn(1)])
  assert.equal(await next(), 2)
})

test('ports outside of the ranges change nothing, and a file that is damaged begins anew', async (t) => {
  const { open, next, file } = await setUp(t)
  await writeFile(file, '[0,0,7]')
  const ranges = await open()
  await ranges.used([32_768, 8080])
  assert.equal(await next(), 0)
})
