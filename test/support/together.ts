/**
 * Several test files in one process: `node test/support/together.ts FILE…`. Their tests run one after the other, and a
 * failure names its file.
 */
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

for (const file of process.argv.slice(2)) {
  try {
    await import(pathToFileURL(resolve(file)).href)
  } catch (error) {
    test(`${file} is loaded`, () => {
      throw error
    })
  }
}
