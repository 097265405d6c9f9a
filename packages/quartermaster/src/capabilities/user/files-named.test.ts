import { expect, it } from 'vitest'
import { filesNamedIn } from './files-named.ts'

it.each([
  ['See file:///tmp/a.zip.', ['file:///tmp/a.zip']],
  ['Download: https://files.catbox.moe/x1y2.zip!', ['https://files.catbox.moe/x1y2.zip']],
  ['Built to /workspace/out and `/tmp/build.zip`.', ['/workspace/out', '/tmp/build.zip']],
  ['It is at /project/dist/report.pdf, done.', ['/project/dist/report.pdf']],
  ['In ~/reports/q3.csv or C:\\Users\\ada\\q3.csv', ['~/reports/q3.csv', 'C:\\Users\\ada\\q3.csv']],
])('finds what people cannot open in %j', (text, found) => {
  expect(filesNamedIn(text)).toEqual(found)
})

it.each([
  'Done, see attached.',
  'Either/or, 24/7, and/or: 1/2 of a.b/c.d',
  'Call GET /api/v1/workspaces, or see https://example.com/tmp/report.pdf and https://mycatbox.moe.example.com/x',
  'The ratio is w/h; try /help.',
])('finds nothing in %j', text => {
  expect(filesNamedIn(text)).toEqual([])
})
