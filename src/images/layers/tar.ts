/** The tar of a layer: files, folders and symlinks alone, all of one time, and of a user and a group of the same number. */
import { type Bytes, createTar, nameFor } from '../../tar/index.ts'
import { LAYER_TIME, LayerBroken, type LayerEntry } from './entry.ts'

const EXTENDED = { mode: 0o644, uid: 0, gid: 0, time: LAYER_TIME }

const tar = createTar({
  kinds: ['file', 'folder', 'symlink'],
  isHeaderAscii: true,
  extended: () => EXTENDED,
  broken: (how, options) => new LayerBroken(how, options),
})

export const { bytesOf, skipPadding } = tar

/** The bytes of a file follow, padded to whole blocks. */
export const headerOf = ({ owner, ...entry }: LayerEntry): Buffer =>
  tar.headerOf({ ...entry, uid: owner, gid: owner, time: LAYER_TIME })

/** The next entry; undefined at the end, which must be the end of the input too. */
export async function nextEntry(bytes: Bytes): Promise<LayerEntry | undefined> {
  const raw = await tar.nextHeader(bytes)
  if (raw === undefined) {
    if (!(await bytes.isOver())) throw new LayerBroken('something follows its end')
    return undefined
  }
  const { uid, gid, time, opaque, ...entry } = tar.entryOf(raw)
  if (uid !== gid || time !== LAYER_TIME || opaque !== undefined)
    throw new LayerBroken(`the header of ${nameFor(entry.path)} is altered`)
  return { ...entry, owner: uid }
}
