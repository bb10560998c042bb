/** The licences of the packages whose code is in the package, for people. */
import type { License } from '../../portal/licenses.ts'

const HEAD = `The portal of Headland (portal/dist) holds code of the packages below, each under its own licence. Of rolldown some
lines are also in dist/bundle.
What npm installs beside Headland is not in this list: its licences are in its own folders.
Both are in sbom.cdx.json, for programs.
`

export function thirdPartyOf(licenses: readonly License[]): string {
  const parts = licenses.map(({ name, version, license, text }) => {
    const title = `${name} ${version} (${license})`
    return `${'='.repeat(title.length)}\n${title}\n${'='.repeat(title.length)}\n\n${text || 'The package has no text of its licence.'}\n`
  })
  return [HEAD, ...parts].join('\n')
}
