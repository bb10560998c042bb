/**
 * Which commit and branch are checked out, read from the files of a repository (gitrepository-layout(5)). Git itself is not
 * started: the settings of a repository that another person made can name programs that git would run. Whatever has another
 * form than expected is left out.
 */
import { join, resolve } from 'node:path'
import { names } from '../../contract/index.ts'
import { NotPlain, readSmallFile } from '../project/small-files.ts'

export type Repository = {
  /** Of this working tree: has HEAD and the index. */
  folder: string
  /** Shared by all working trees: has branches and objects. */
  common: string
}

export type Head = { sha: string; branch: string | undefined }

const MAX_LINK_BYTES = 4096
const MAX_PACKED_REFS_BYTES = 32 * 1024 * 1024
/** A branch may be another name of a branch; git follows as many. */
const MAX_STEPS = 5

/** `.git`, or the folder that a file of that name leads to, as in a worktree and in a submodule. */
export async function openRepository(top: string): Promise<Repository> {
  const link = await readText(join(top, '.git'), MAX_LINK_BYTES)
  const [, linked] = /^gitdir: (.+?)\r?\n?$/.exec(link ?? '') ?? []
  const folder = linked === undefined ? join(top, '.git') : resolve(top, linked)
  const common = (await readText(join(folder, 'commondir'), MAX_LINK_BYTES))?.trimEnd()
  return { folder, common: common ? resolve(folder, common) : folder }
}

/** Undefined where there is no commit yet. */
export async function readHead({ folder, common }: Repository): Promise<Head | undefined> {
  let text = await readText(join(folder, 'HEAD'), MAX_LINK_BYTES)
  let branch: string | undefined
  for (let step = 0; step < MAX_STEPS && text !== undefined; step++) {
    const value = text.trimEnd()
    if (SHA.test(value)) return { sha: value, branch }
    const [, ref] = SYMBOLIC.exec(value) ?? []
    if (ref === undefined || !isRef(ref)) return undefined
    branch = /^refs\/heads\/(.+)$/s.exec(ref)?.[1]
    text = (await readText(join(common, ref), MAX_LINK_BYTES)) ?? (await packed(common, ref))
  }
  return undefined
}

/** Undefined where there is none, or something else than a plain file of that size. */
export async function readPlain(file: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    return (await readSmallFile(file, { maxBytes }))?.content
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

const readText = async (file: string, maxBytes: number): Promise<string | undefined> =>
  (await readPlain(file, maxBytes))?.toString('utf8')

const SHA = new RegExp(String(names.commitSha.pattern))
const SYMBOLIC = /^ref: ?(\S.*)$/

/** It becomes part of a path, and must not lead out of the repository (git-check-ref-format(1)). */
const isRef = (ref: string): boolean =>
  /^refs\/[^\p{Cc}\\ ~^:?*[]+$/u.test(ref) && ref.split('/').every((step) => step !== '' && !step.startsWith('.'))

/** Branches that were not moved lately stand together in one file. */
async function packed(common: string, ref: string): Promise<string | undefined> {
  const file = await readPlain(join(common, 'packed-refs'), MAX_PACKED_REFS_BYTES)
  const at = file?.indexOf(` ${ref}\n`) ?? -1
  if (!file || at < 0) return undefined
  return file.toString('latin1', file.lastIndexOf('\n', at) + 1, at)
}
