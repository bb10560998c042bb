/** Writes the overlay's marks that the layer of an image has. */
import { type MarkEntry, putMarks as put } from '../../tar/index.ts'

export type Marks = {
  /** Paths of files of lower layers that are removed. */
  whiteouts: readonly string[]
  /** Folders that hide the lower layers; they exist already. */
  opaque: readonly string[]
}

/** Root has attributes of its own; other users mount overlays with theirs. */
export function putMarks(folder: string, { whiteouts, opaque }: Marks): Promise<void> {
  const hiding = process.getuid?.() === 0 ? 'trusted' : 'user'
  return put(folder, [
    ...whiteouts.map((path) => mark({ path, kind: 'whiteout', mode: 0o644 })),
    ...opaque.map((path) => mark({ path, kind: 'folder', mode: 0o755, opaque: hiding })),
  ])
}

const mark = (entry: Pick<MarkEntry, 'path' | 'kind' | 'mode' | 'opaque'>): MarkEntry => ({
  ...entry,
  ...{ uid: 0, gid: 0, time: 0, size: 0 },
})
