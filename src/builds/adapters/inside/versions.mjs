/** Says which versions of the packages that it is given are installed, as JSON. */
import { folderOf, manifestIn } from './find.mjs'

const versionOf = (name) => {
  const folder = folderOf(name)
  return folder === undefined ? null : manifestIn(folder).version
}

process.stdout.write(JSON.stringify(process.argv.slice(2).map(versionOf)))
