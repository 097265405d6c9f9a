import { expect, it } from 'vitest'
import { fileNamedIn, relativeFileIn } from './file-named.ts'

it.each([
  ['See file:///tmp/a.zip.', 'file:///tmp/a.zip'],
  ['See FILE:/tmp/a.zip', 'FILE:/tmp/a.zip'],
  ['[report](sandbox:/mnt/data/q3.csv)', 'sandbox:/mnt/data/q3.csv'],
  ['Download: https://files.catbox.moe/x1y2.zip!', 'https://files.catbox.moe/x1y2.zip'],
  ['See http://localhost:3000/report.pdf, please', 'http://localhost:3000/report.pdf'],
  ['http://127.0.0.1:7466/api/v1/attachments/att_x/content', 'http://127.0.0.1:7466/api/v1/attachments/att_x/content'],
  ['Built to /workspace/out and `/tmp/build.zip`.', '/workspace/out'],
  ['`/tmp/build.zip`, as you said', '/tmp/build.zip'],
  ['Saved:/tmp/build.zip', '/tmp/build.zip'],
  ['保存在/tmp/报告.pdf', '/tmp/报告.pdf'],
  ['It is at /project/dist/report.pdf, done.', '/project/dist/report.pdf'],
  ['Лежит в /проект/отчёт/данные.csv', '/проект/отчёт/данные.csv'],
  ['In ~/reports/q3.csv', '~/reports/q3.csv'],
  ['In C:\\Users\\ada\\q3.csv', 'C:\\Users\\ada\\q3.csv'],
  ['In D:/work/q3.csv', 'D:/work/q3.csv'],
  ['On \\\\server\\share\\q3.xlsx', '\\\\server\\share\\q3.xlsx'],
  ['In %TEMP%\\q3.csv', '%TEMP%\\q3.csv'],
  ['In $HOME/q3.csv', '$HOME/q3.csv'],
  ['I put it into ./out/report.csv.', './out/report.csv'],
  ['See `../build`', '../build'],
  ['Look at .\\out\\q3.xlsx', '.\\out\\q3.xlsx'],
  ['Done: outputs/x.pdf', 'outputs/x.pdf'],
  ['[the table](results/2026/q3-final.xlsx)', 'results/2026/q3-final.xlsx'],
  ['Es liegt in Berichte/Übersicht.docx!', 'Berichte/Übersicht.docx'],
  ['I saved the whole summary as `report.pdf`.', 'report.pdf'],
  ['The results are in results.csv', 'results.csv'],
  ['The file report.v2.pdf has all of it.', 'report.v2.pdf'],
  ['The chart is compiled, as `chart.svg`; and more', 'chart.svg'],
  ['I have written it to:\n**notes.md**', 'notes.md'],
  ["It's saved with my client's work ('q3.csv')", 'q3.csv'],
  ['It will be now under "out.tar", and so on', 'out.tar'],
  ['Saved:\n- [all of it](out/x.pdf?page=2)', 'out/x.pdf'],
  ['**chart.png** is ready', 'chart.png'],
  ['`a.csv` and "b.csv" are now ready.', 'b.csv'],
])('finds what people cannot open in %j', (text, found) => {
  expect(fileNamedIn(text)).toBe(found)
})

it.each([
  'Done, see attached.',
  'Either/or, 24/7, and/or: 1/2 of a.b/c.d',
  'Call GET /api/v1/workspaces, or see https://example.com/tmp/report.pdf and https://mycatbox.moe.example.com/x',
  'The ratio is w/h; try /help.',
  'The page runs at http://localhost:3000/ and http://127.0.0.1:8080/admin/users now',
  'Write to ada@example.com/home, or look at http://localhost:8080/tmp/x.',
  'and/or, 1/2, v1.2/v1.3, src/ and docs/ changed, TCP/IP.html5 and React/Vue.js',
  'See example.com/report.pdf, www.example.org/a/b.csv, https://example.com/a/b.csv?x=out/y.csv and //cdn.example.com/a.png',
  'Is a report.pdf what you want, or rather a CSV?',
  'I read the file data.csv that you sent, and your file notes.md.',
  'Version 1.2.md is no version; node.js 20.1/20.2 are.',
  'It is ready. Are you?',
  'All is saved. Is a report.pdf what you want?',
  'All is saved\nreport.pdf was yours',
  'I saved one two three four five six seven report.pdf',
  'I checked the file data.csv, what your file a.md has, and the file b.md that they sent. A file (notes.md) you sent is fine.',
  'Saved as notes.md@2, data.dbase, report.pdf-old and x.pdf/',
  'From 12:/30 on, "a:\\" is no file, and neither is profile://x.',
])('finds nothing in %j', text => {
  expect(fileNamedIn(text)).toBeUndefined()
})

const MEGABYTE = 1_048_576
const filledWith = (piece: string) => `${piece.repeat(Math.ceil(MEGABYTE / piece.length))} .pdf `

// Most of these took minutes while every start was followed to the end of the text, or each quote could be two things.
it.each([
  '/a@',
  '/a+',
  '/a.',
  '/a-',
  '/ä',
  '/a:',
  'C:/',
  '%a',
  '$a/',
  '\\\\a',
  'http://a.',
  'http://localhost/a.',
  'http://localhost/a. ',
  'file:/',
  'a/',
  './',
  '../a',
  'a.pdf/',
  'a.pdf ',
  'saved ',
  'saved a.',
  "saved '-' ",
  'file a ',
  `file ${"''''a'''' ".repeat(6)}`,
  "file 'a', 'b', 'c', ",
  `saved ${'now '.repeat(6)}a.pdf `,
  'is in is now in a.pdf is now ',
  ' ,:"*([',
  "'",
])('reads a megabyte of %j to its end, and shows little of it', piece => {
  const text = filledWith(piece)
  for (const found of [fileNamedIn(text), relativeFileIn(text, ['a.pdf'])?.slice(0, 200)])
    expect(found?.length ?? 0).toBeLessThanOrEqual(200)
})

it('looks at the beginning of a long message alone', () => {
  const words = 'word '.repeat(13_000)
  expect(fileNamedIn(`${words} /tmp/a.zip`)).toBe('/tmp/a.zip')
  expect(fileNamedIn(`${words}${words} /tmp/a.zip, saved as report.pdf`)).toBeUndefined()
})

it('takes no offence at the name of a file that is sent along', () => {
  expect(fileNamedIn('I saved it as report.pdf, from out/report.pdf.', ['report.pdf'])).toBeUndefined()
  expect(fileNamedIn('I saved it as report.pdf, and data.csv in out/data.csv.', ['report.pdf'])).toBe('out/data.csv')
})
