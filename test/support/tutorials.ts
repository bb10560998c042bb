/** A tutorial, followed by a reader: the files that the page shows are in a folder, and its commands are run there. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Scope, temporaryFolder } from './folder.ts'
import { blocksOf, commandsOf, readPage, runBlocks, shellIn } from './guides.ts'
import { databaseSettings } from './postgres/databases.ts'
import type { Files } from './service/deploy.ts'
import type { TestService } from './service/service.ts'

export type Page = {
  blocks(language: string): string[]
  /** The first block of the language. */
  block(language: string): string
}

export type Followed = {
  page: Page
  /** What the last block printed that has this command. */
  printed(command: string): string
  /** The address in the last line of the deploy. */
  url: string
  /** Another command of the same reader. */
  run(command: string): Promise<string>
}

export function pageOf(text: string): Page {
  const blocks = (language: string) =>
    blocksOf(text)
      .filter((block) => block.language === language)
      .map((block) => block.text)
  return { blocks, block: (language) => blocks(language)[0] ?? assert.fail(`the page has no block of ${language}`) }
}

export async function followTutorial(
  t: Scope,
  service: TestService,
  path: string,
  filesOf: (page: Page) => Files | Promise<Files>,
): Promise<Followed> {
  const text = await readPage(path)
  const page = pageOf(text)
  const place = await temporaryFolder(t)
  const folder = join(place, 'project')
  await writeFiles(folder, await filesOf(page))
  const as = await service.login('developer')
  const shell = await shellIn(folder, join(place, 'home'), {
    HEADLAND_DATA_DIR: service.dataDir,
    ...(await databaseSettings(service.dataDir)),
    HEADLAND_URL: service.api,
    HEADLAND_API_USER: as.userId,
    HEADLAND_API_PASSWORD: as.password,
  })
  const commands = commandsOf(text)
  const printed = await runBlocks(commands, shell)
  const printedBy = (command: string): string => {
    const at = commands.findLastIndex((block) => block.includes(command))
    return printed[at] ?? assert.fail(`no block has ${command}`)
  }
  return {
    page,
    printed: printedBy,
    url: printedBy('headland deploy').split('\n').at(-1) ?? '',
    run: async (command) => (await runBlocks([command], shell))[0] ?? '',
  }
}

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content as string | Uint8Array)
  }
}
