/** A repository of the records as git sees it: its packs and refs in a work folder, for the time of one request. */
import { chmod, copyFile, link, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blobs, Digest } from '../storage/index.ts'
import type { Ref, Repository } from './records.ts'
import { checkObjectId, checkRef } from './updates.ts'
import type { GitFolder } from './work-folders.ts'

export async function stageRepository(blobs: Pick<Blobs, 'withFile'>, folder: GitFolder, { refs, packs }: Repository) {
  const place = (name: string) => join(folder.repository, 'objects/pack', name)
  for (const { name, pack, index } of packs) {
    checkObjectId(name)
    await lay(blobs, pack, place(`pack-${name}.pack`))
    await lay(blobs, index, place(`pack-${name}.idx`))
  }
  const lines = refs.map(({ name, target }) => {
    checkRef({ name, from: null, to: target })
    return `${checkObjectId(target)} ${name}\n`
  })
  await writeFile(join(folder.repository, 'packed-refs'), ['# pack-refs with: sorted \n', ...lines].join(''), {
    mode: 0o644,
  })
  await writeFile(join(folder.repository, 'HEAD'), `ref: ${headOf(refs)}\n`)
}

/**
 * The blob itself under another name, readable for the user of the job: it can neither write to it nor, in folders that only the
 * service enters, find it. A copy where the file system makes no links.
 */
async function lay(blobs: Pick<Blobs, 'withFile'>, digest: Digest, at: string) {
  await blobs.withFile(digest, async (file) => {
    await link(file, at).catch(() => copyFile(file, at))
    await chmod(at, 0o444)
  })
}

/** What a clone checks out. */
export function headOf(refs: readonly Ref[]): string {
  const branches = refs.map(({ name }) => name).filter((name) => name.startsWith('refs/heads/'))
  const usual = ['refs/heads/main', 'refs/heads/master'].find((name) => branches.includes(name))
  return usual ?? branches[0] ?? 'refs/heads/main'
}
