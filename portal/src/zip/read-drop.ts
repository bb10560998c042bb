/** The files of what was dropped or chosen, each with its path. Folders that are left out are not even looked into. */
import { commonFolder, isLeftOut, isLeftOutFolder } from './choose.ts'

export type Chosen = { path: string; file: File }
export type Selection = { files: Chosen[] /** Names of folders that were left out. */; leftOut: string[] }

/** Must be called while the drop event is handled: afterwards its items are gone. */
export function readDrop(items: DataTransferItemList): Promise<Selection> {
  const given = [...items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }))
  return readEntries(given)
}

/** Something without an entry in a file system, such as a picture dragged from another page, is still a file. */
type Given = { entry: FileSystemEntry | null; file: File | null }

async function readEntries(given: readonly Given[]): Promise<Selection> {
  const files: Chosen[] = []
  const leftOut = new Set<string>()

  async function walk(entry: FileSystemEntry, path: string): Promise<void> {
    if (entry.isDirectory) {
      if (isLeftOutFolder(entry.name)) {
        leftOut.add(entry.name)
        return
      }
      for (const child of await childrenOf(entry as FileSystemDirectoryEntry))
        await walk(child, `${path}${child.name}${child.isDirectory ? '/' : ''}`)
      return
    }
    if (!isLeftOut(path)) files.push({ path, file: await fileOf(entry as FileSystemFileEntry) })
  }

  for (const { entry, file } of given) {
    if (entry) await walk(entry, `${entry.name}${entry.isDirectory ? '/' : ''}`)
    else if (file) files.push({ path: file.name, file })
  }
  return { files: withoutCommonFolder(files), leftOut: [...leftOut] }
}

/** What a file field gave: a folder with everything in it, or single files. */
export function readField(list: FileList): Selection {
  const all = [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }))
  const leftOut = new Set(all.flatMap(({ path }) => path.split('/').slice(0, -1).filter(isLeftOutFolder)))
  return { files: withoutCommonFolder(all.filter(({ path }) => !isLeftOut(path))), leftOut: [...leftOut] }
}

function withoutCommonFolder(files: Chosen[]): Chosen[] {
  const folder = commonFolder(files.map(({ path }) => path))
  return files.map(({ path, file }) => ({ path: path.slice(folder.length), file }))
}

/** A folder is read a hundred entries at a time, until there are no more. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return all
    all.push(...some)
  }
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject))
