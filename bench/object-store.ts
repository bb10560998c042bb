/**
 * An archive that is put into an object store, checked and kept, beside bare PUTs of the same file: one that is signed with the
 * digest of its bytes, as ours are, and one that is not.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Secret } from '../src/base/index.ts'
import { openS3Blobs } from '../src/storage/blobs/s3/blobs-s3.ts'
import { pathText, signed } from '../src/storage/blobs/s3/signing.ts'
import { type Ceph, startCeph } from '../test/support/object-store/ceph.ts'
import { isCephThere } from '../test/support/object-store/ceph-packages.ts'
import { type Bench, IS_QUICK, median, Skipped } from './bench.ts'
import { temporaryFolder } from './service.ts'

const ROUNDS = 3
const MEGABYTES = IS_QUICK ? 100 : 500

export const objectStore: Bench = {
  name: 'object-store',
  what: `an archive of ${MEGABYTES} MB into Ceph, as an upload stores it, beside a bare PUT`,
  noise: 'three of each in turns, medians; the same store, in memory',
  async run() {
    if (!isCephThere()) throw new Skipped('Ceph is not there: node test/prepare.ts --object-store, as root')
    const ends: (() => unknown)[] = []
    await using folder = await temporaryFolder()
    try {
      const ceph = await startCeph({ after: (end) => void ends.push(end) })
      return await measure(ceph, folder.path)
    } finally {
      for (const end of ends.toReversed()) await end()
    }
  },
}

async function measure(ceph: Ceph, folder: string) {
  const file = join(folder, 'archive')
  const blobs = await openS3Blobs({
    bucket: {
      ...{ endpoint: new URL(ceph.endpoint), bucket: ceph.bucket, region: ceph.region, isPathStyle: true },
      ...{ keyId: ceph.keyId, secret: new Secret(ceph.secret) },
    },
    prefix: 'bench',
    owner: 'bench',
    cache: { folder: join(folder, 'cache'), maxBytes: 1 },
  })
  const rates = { ours: [] as number[], signed: [] as number[], unsigned: [] as number[] }
  try {
    // The first round is not counted: Ceph makes its pools when it needs them.
    for (let round = -1; round < ROUNDS; round++) {
      await fill(file)
      rates.unsigned.push(await rateOf(() => barePut(ceph, file, 'UNSIGNED-PAYLOAD')))
      rates.signed.push(await rateOf(async () => barePut(ceph, file, await digestOf(file))))
      let digest: Awaited<ReturnType<typeof blobs.put>>['digest'] = 'sha256:'
      rates.ours.push(
        await rateOf(async () => {
          digest = (await blobs.put(createReadStream(file, { highWaterMark: 1024 * 1024 }))).digest
        }),
      )
      await blobs.remove(digest)
      if (round < 0) rates.ours.length = rates.signed.length = rates.unsigned.length = 0
    }
  } finally {
    blobs.close()
  }
  const row = { what: 'rate', unit: 'MB/s', ours: median(rates.ours), goal: { of: 'ratio' as const, min: 0.6 } }
  return [
    { ...row, peer: median(rates.signed), beside: 'a PUT signed with the digest of its body' },
    { ...row, peer: median(rates.unsigned), beside: 'a PUT without a digest' },
  ]
}

/** Other bytes in each round: the same ones would be there already. */
async function fill(path: string) {
  const file = await open(path, 'w')
  for (let written = 0; written < MEGABYTES; written += 10) await file.write(randomBytes(10_000_000))
  await file.close()
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file, { highWaterMark: 1024 * 1024 })) hash.update(piece)
  return hash.digest('hex')
}

/** Megabytes per second. */
async function rateOf(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return (1000 * MEGABYTES) / (performance.now() - began)
}

async function barePut({ endpoint, bucket, region, keyId, secret }: Ceph, file: string, bodyDigest: string) {
  const { host, hostname, port } = new URL(endpoint)
  const path = pathText(bucket, 'bare')
  const unsigned = { method: 'PUT', host, path, query: {}, headers: {}, bodyDigest }
  const headers = signed(unsigned, { keyId, secret: new Secret(secret), region }, new Date())
  const bytes = (await stat(file)).size
  const sent = request({ hostname, port, method: 'PUT', path, headers: { ...headers, 'content-length': bytes } })
  const answered = new Promise<number | undefined>((resolve, reject) => {
    sent.once('response', (answer) => resolve(answer.resume().statusCode)).once('error', reject)
  })
  await pipeline(createReadStream(file, { highWaterMark: 1024 * 1024 }), sent)
  assert.equal(await answered, 200)
}
