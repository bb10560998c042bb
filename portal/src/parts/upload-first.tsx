/** What to do where nothing was uploaded yet, for whoever may: part of an empty page. */
import type { Place } from '../api/names.ts'
import { environmentPath } from '../paths.ts'
import { ButtonLink } from './button.tsx'

export const uploadFirst = (place: Place) => ({
  action: (
    <ButtonLink kind="primary" icon="upload" href={environmentPath(place)}>
      Upload an archive
    </ButtonLink>
  ),
  curl: {
    method: 'POST' as const,
    path: `/fu/v1/${place.name}:upload`,
    file: { field: 'repository', name: 'app.zip' },
  },
})
