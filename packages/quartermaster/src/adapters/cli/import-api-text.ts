import type { ImportedApi, ImportedOperation } from '../../contracts/index.ts'
import { count, paragraph } from './layout.ts'
import type { Printer } from './printer.ts'
import { type Row, renderTable } from './table.ts'

/** What a document describes, and of what no tool can be made. */
export function listedApiText({ operations }: ImportedApi, printer: Printer): string {
  if (operations.length === 0) return 'The document describes no operations.\n'
  const rows = operations.map(
    ({ id, method, path, short, refused }): Row => ({
      cells: [id, `${method} ${path}`, short],
      ...(refused !== undefined && { notes: [`No tool: ${refused}`] }),
    }),
  )
  const columns = [{ title: 'Operation' }, { title: 'Request' }, { title: 'What it does', flexible: true }]
  return renderTable({ columns, rows }, printer)
}

const WORDS = {
  written: 'written',
  replaced: 'written over',
  unchanged: 'there already',
  wouldWrite: 'would be written',
  wouldReplace: 'would be written over',
} as const satisfies Record<ImportedOperation['outcome'], string>

/** What became of each, and what is to be done next. */
export function importedApiText(api: ImportedApi, printer: Printer): string {
  const { imported, secrets, secretsFile, capability } = api
  const wide = { ...printer, width: undefined }
  const lines = imported.flatMap(({ tool, file, outcome, notes, secrets }) => [
    `${printer.paint.green('✓')} ${paragraph(`${tool}: ${file} ${WORDS[outcome]}`, wide)}`,
    ...secrets.map(({ name, what, host }) => `  ${paragraph(`Sends the secret "${name}" to ${host}: ${what}`, wide)}`),
    ...notes.map(note => `  ${paragraph(note, wide)}`),
  ])
  const skipped = api.operations.map(({ id, refused }) => `- ${paragraph(`${id}: no tool. ${refused ?? ''}`, wide)}`)
  const missing = secrets.map(({ name, what }) => `  ${paragraph(`"${name}": ${what}`, wide)}`)
  return [
    ...lines,
    ...skipped,
    ...(missing.length > 0 ? [`Add to ${secretsFile}, or the tools stay disabled:\n`, ...missing] : []),
    `${printer.paint.bold(`${count(imported.length, 'tool')} of "${capability}".`)} Give them to an agent: quartermaster grant AGENT ${capability}\n`,
  ].join('')
}
