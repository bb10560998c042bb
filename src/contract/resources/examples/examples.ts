/** Examples that come with the service: small apps, as an archive that can be uploaded as it is. */
import { integer, object, type Static, string } from '../../schema.ts'

export const example = object(
  {
    name: string({ description: '`examples/{example}`; its archive is at `/v1/examples/{example}.zip`.' }),
    displayName: string(),
    description: string({ description: 'What it shows, in one sentence.' }),
    files: integer({ description: 'Files in the archive.' }),
    bytes: integer({ description: 'Bytes of the archive.' }),
  },
  { title: 'Example' },
)
export type Example = Static<typeof example>
