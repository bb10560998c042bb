import { content } from '../../content.js'

export const dynamic = 'force-dynamic'

export const GET = () => Response.json(content)

export async function PUT(request) {
  content.text = await request.text()
  return Response.json(content)
}
