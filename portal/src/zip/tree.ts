/** What was dropped or chosen, as a tree of names that is read step by step: nobody knows how large it is. */
import type { Entry } from './select.ts'

/** Must be called while the drop event is handled: afterwards its items are gone. */
export function entriesOfDrop(items: DataTransferItemList): Entry[] {
  return [...items].flatMap((item): Entry[] => {
    const [entry, file] = [item.webkitGetAsEntry(), item.getAsFile()]
    if (entry) return [entryOf(entry)]
    // Something without an entry in a file system, such as a picture dragged from another page, is still a file.
    return file ? [{ kind: 'file', name: file.name, open: async () => file }] : []
  })
}

function entryOf(entry: FileSystemEntry): Entry {
  const { name } = entry
  if (entry.isDirectory) return { kind: 'folder', name, list: () => listOf(entry as FileSystemDirectoryEntry) }
  return {
    kind: 'file',
    name,
    open: () => new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
  }
}

/** A browser gives a hundred at a time. */
async function* listOf(folder: FileSystemDirectoryEntry): AsyncGenerator<Entry[]> {
  const reader = folder.createReader()
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return
    yield some.map(entryOf)
  }
}

type Folder = { files: Map<string, File>; folders: Map<string, Folder> }

/** What a file field gave: a folder with everything in it, or single files. */
export function entriesOfField(list: FileList): Entry[] {
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

function entriesIn({ files, folders }: Folder): Entry[] {
  return [
    ...[...folders].map(
      ([name, folder]): Entry => ({
        kind: 'folder',
        name,
        async *list() {
          yield entriesIn(folder)
        },
      }),
    ),
    ...[...files].map(([name, file]): Entry => ({ kind: 'file', name, open: async () => file })),
  ]
}
