import { expect, it } from 'vitest'
import { fileNamedIn, relativeFileIn } from './file-named.ts'

it.each([
  ['See file:///tmp/a.zip.', 'file:///tmp/a.zip'],
  ['[report](sandbox:/mnt/data/q3.csv)', 'sandbox:/mnt/data/q3.csv'],
  ['Download: https://files.catbox.moe/x1y2.zip!', 'https://files.catbox.moe/x1y2.zip'],
  ['http://127.0.0.1:7466/api/v1/attachments/att_x/content', 'http://127.0.0.1:7466/api/v1/attachments/att_x/content'],
  ['Saved:/tmp/build.zip', '/tmp/build.zip'],
  ['保存在/tmp/报告.pdf', '/tmp/报告.pdf'],
  ['In ~/reports/q3.csv', '~/reports/q3.csv'],
  ['In C:\\Users\\ada\\q3.csv', 'C:\\Users\\ada\\q3.csv'],
  ['On \\\\server\\share\\q3.xlsx', '\\\\server\\share\\q3.xlsx'],
  ['See `../build`', '../build'],
  ['[the table](results/2026/q3-final.xlsx)', 'results/2026/q3-final.xlsx'],
  ['I saved the whole summary as `report.pdf`.', 'report.pdf'],
  ['The chart is compiled, as `chart.svg`; and more', 'chart.svg'],
  ["It's saved with my client's work ('q3.csv')", 'q3.csv'],
  ['Saved:\n- [all of it](out/x.pdf?page=2)', 'out/x.pdf'],
  ['`a.csv` and "b.csv" are now ready.', 'b.csv'],
])('finds what people cannot open in %j', (text, found) => {
  expect(fileNamedIn(text)).toBe(found)
})

it.each([
  'Either/or, 24/7, and/or: 1/2 of a.b/c.d',
  'Call GET /api/v1/workspaces, or see https://example.com/tmp/report.pdf and https://mycatbox.moe.example.com/x',
  'The page runs at http://localhost:3000/ and http://127.0.0.1:8080/admin/users now',
  'and/or, 1/2, v1.2/v1.3, src/ and docs/ changed, TCP/IP.html5 and React/Vue.js',
  'See example.com/report.pdf, www.example.org/a/b.csv, https://example.com/a/b.csv?x=out/y.csv and //cdn.example.com/a.png',
  'Version 1.2.md is no version; node.js 20.1/20.2 are.',
  'I saved one two three four five six seven report.pdf',
  'I checked the file data.csv, what your file a.md has, and the file b.md that they sent. A file (notes.md) you sent is fine.',
  'Saved as notes.md@2, data.dbase, report.pdf-old and x.pdf/',
  'From 12:/30 on, "a:\\" is no file, and neither is profile://x.',
])('finds nothing in %j', text => {
  expect(fileNamedIn(text)).toBeUndefined()
})

const MEGABYTE = 1_048_576
const filledWith = (piece: string) => `${piece.repeat(Math.ceil(MEGABYTE / piece.length))} .pdf `

// Each of these once took minutes.
it.each([
  '/a.',
  'http://localhost/a. ',
  'a.pdf/',
  "saved '-' ",
  `file ${'a '.repeat(6)}`,
  'is in is now in a.pdf is now ',
])('reads a megabyte of %j in linear time, and quotes little of it', piece => {
  const text = filledWith(piece)
  for (const found of [fileNamedIn(text), relativeFileIn(text, ['a.pdf'])?.slice(0, 200)])
    expect(found?.length ?? 0).toBeLessThanOrEqual(200)
})

it('reads only the beginning of a long message', () => {
  const words = 'word '.repeat(13_000)
  expect(fileNamedIn(`${words} /tmp/a.zip`)).toBe('/tmp/a.zip')
  expect(fileNamedIn(`${words}${words} /tmp/a.zip, saved as report.pdf`)).toBeUndefined()
})

it('ignores the names of attached files', () => {
  expect(fileNamedIn('I saved it as report.pdf, from out/report.pdf.', ['report.pdf'])).toBeUndefined()
  expect(fileNamedIn('I saved it as report.pdf, and data.csv in out/data.csv.', ['report.pdf'])).toBe('out/data.csv')
})
