import type { Instrument, Sample } from './instruments.ts'

/** The text format of Prometheus, version 0.0.4. */
export function expose(instruments: Iterable<Instrument>): string {
  return [...instruments].map(familyOf).join('')
}

function familyOf(instrument: Instrument): string {
  const { name, help, type } = instrument
  const samples = [...instrument.samples()].map(sample => lineOf(name, sample))
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...samples, ''].join('\n')
}

function lineOf(name: string, { suffix, labels, value }: Sample): string {
  const list = labels.map(([label, text]) => `${label}="${escapeLabel(text)}"`).join(',')
  return `${name}${suffix ?? ''}${list === '' ? '' : `{${list}}`} ${numberOf(value)}`
}

function numberOf(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
