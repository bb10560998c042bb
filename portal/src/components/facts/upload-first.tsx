/** Part of an empty page: leads users who may write to the first upload. */
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import { environmentPath } from '../../paths.ts'
import { ButtonLink } from '../controls/button.tsx'

export const uploadFirst = (place: Place) => ({
  action: (
    <ButtonLink kind="primary" icon="upload" href={environmentPath(place)}>
      Upload an archive
    </ButtonLink>
  ),
  curl: {
    method: 'POST' as const,
    command: headland(['deploy'], at(place)),
    path: `/fu/v1/${place.name}:upload`,
    file: { field: 'repository', name: 'app.zip' },
  },
})
