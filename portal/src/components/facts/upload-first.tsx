/** What to do where nothing was uploaded yet, for whoever may: part of an empty page. */
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
