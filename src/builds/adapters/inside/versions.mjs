/** Prints the installed versions of the given packages as JSON. */
import { folderOf, manifestIn } from './find.mjs'

const versionOf = (name) => {
  const folder = folderOf(name)
  return folder === undefined ? null : manifestIn(folder).version
}

process.stdout.write(JSON.stringify(process.argv.slice(2).map(versionOf)))
