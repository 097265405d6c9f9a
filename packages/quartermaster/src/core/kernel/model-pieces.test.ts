import { expect, it } from 'vitest'
import { modelPieces, textForModel } from './index.ts'

const file = (uri: string, mimeType?: string) => ({
  content: [{ type: 'resource' as const, resource: { uri, ...(mimeType ? { mimeType } : {}), blob: 'AAEC' } }],
})

it.each([
  ['file:///home/me/My%20report.pdf', 'application/pdf', 'My report.pdf'],
  ['https://example.com/reports/12?download=1', 'application/pdf', '12.pdf'],
  ['desk:seal', undefined, 'seal'],
  ['weather://maps/', 'image/png', 'maps.png'],
  ['weather://', 'image/png', 'weather.png'],
  ['100%', 'text/csv', '100%.csv'],
])('calls the file at %s by its last part', (uri, mimeType, name) => {
  expect(modelPieces(file(uri, mimeType))).toMatchObject([{ kind: 'file', name }])
})

it.each([
  ['image/PNG', 'image/png'],
  ['image/jpg', 'image/jpeg'],
  ['text/csv; charset=utf-8', 'text/csv'],
])('takes %s for %s', (given, mimeType) => {
  const image = { type: 'image' as const, data: 'AAEC', mimeType: given }
  const pieces = modelPieces({ content: [image, ...file('a', given).content] }, type => type === mimeType)
  expect(pieces).toMatchObject([{ mimeType }, { mimeType }])
})

it('names what is not taken where it stood, and leaves the rest', () => {
  const result = { content: [...file('a.pdf', 'application/pdf').content, ...file('b.zip', 'application/zip').content] }
  expect(modelPieces(result, type => type === 'application/pdf')).toMatchObject([
    { kind: 'file', name: 'a.pdf' },
    { kind: 'text', text: '[application/zip b.zip]' },
  ])
  expect(textForModel(result)).toBe('[application/pdf a.pdf]\n[application/zip b.zip]')
})
