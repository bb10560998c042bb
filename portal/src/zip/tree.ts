/** What was dropped or chosen, as a tree that is read step by step, since its size is not known. */
import type { TreeEntry } from './select.ts'

/** Must be called in the handler of the drop event: its items are cleared afterwards. */
export function entriesOfDrop(items: DataTransferItemList): TreeEntry[] {
  return [...items].flatMap((item): TreeEntry[] => {
    const [entry, file] = [item.webkitGetAsEntry(), item.getAsFile()]
    if (entry) return [entryOf(entry)]
    // An item without a file system entry, such as a picture dragged from another page, is still a file.
    return file ? [{ kind: 'file', name: file.name, open: async () => file }] : []
  })
}

function entryOf(entry: FileSystemEntry): TreeEntry {
  const { name } = entry
  if (entry.isDirectory) return { kind: 'folder', name, list: () => listOf(entry as FileSystemDirectoryEntry) }
  return {
    kind: 'file',
    name,
    open: () => new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
  }
}

/** A browser returns at most a hundred entries per call. */
async function* listOf(folder: FileSystemDirectoryEntry): AsyncGenerator<TreeEntry[]> {
  const reader = folder.createReader()
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return
    yield some.map(entryOf)
  }
}

type Folder = { files: Map<string, File>; folders: Map<string, Folder> }

/** The selection of a file field: a folder with all its files, or single files. */
export function entriesOfField(list: FileList): TreeEntry[] {
  const top: Folder = newFolder()
  for (const file of list) {
    const names = (file.webkitRelativePath || file.name).split('/')
    const name = names.pop() ?? ''
    let at = top
    for (const step of names) {
      const next = at.folders.get(step) ?? newFolder()
      at.folders.set(step, next)
      at = next
    }
    at.files.set(name, file)
  }
  return entriesIn(top)
}

const newFolder = (): Folder => ({ files: new Map(), folders: new Map() })

function entriesIn({ files, folders }: Folder): TreeEntry[] {
  return [
    ...[...folders].map(
      ([name, folder]): TreeEntry => ({
        kind: 'folder',
        name,
        async *list() {
          yield entriesIn(folder)
        },
      }),
    ),
    ...[...files].map(([name, file]): TreeEntry => ({ kind: 'file', name, open: async () => file })),
  ]
}
