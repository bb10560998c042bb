/** Rules on how files are arranged: no circles of imports, and no folder that is too long to read. */
import { dirname } from 'node:path/posix'
import { importedFiles, isTest, type Source } from './source.ts'

/** Files that import each other, directly or through others. Imports of types count, since a reader follows them too. */
export function circles(sources: readonly Source[]): string[][] {
  const files = sources.filter(({ path }) => !isTest(path))
  const known = new Set(files.map(({ path }) => path))
  const imports = new Map(files.map((file) => [file.path, importedFiles(file).filter((path) => known.has(path))]))
  return stronglyConnected(imports).filter((circle) => circle.length > 1)
}

/** Tarjan's algorithm. */
function stronglyConnected(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []

  function visit(node: string) {
    order.set(node, order.size)
    lowest.set(node, order.get(node) ?? 0)
    stack.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) lowest.set(node, Math.min(lowest.get(node) ?? 0, lowest.get(next) ?? 0))
    }
    if (lowest.get(node) === order.get(node)) found.push(stack.splice(stack.indexOf(node)).toSorted())
  }

  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return found
}

/** Folders with more files than `max`. */
export function crowdedFolders(paths: readonly string[], max: number): string[] {
  const counts = new Map<string, number>()
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  return [...counts].filter(([, count]) => count > max).map(([folder, count]) => `${folder} has ${count} files`)
}
