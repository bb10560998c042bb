/** Writes the types of the API client: `node scripts/client.ts`. A test fails while they are not those of the current API. */
import { writeFileSync } from 'node:fs'
import { generatedFiles } from './client/files.ts'

for (const { file, text } of generatedFiles()) writeFileSync(file, text)
