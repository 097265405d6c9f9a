import { toTerm } from './terms.ts'

/** Groups of synonyms. Only words that mean the same in every field of work. */
export const SYNONYMS: readonly (readonly string[])[] = `
show display view
create make generate build
add create
delete remove erase clear
update change modify edit
search find lookup discover locate
calculate compute determine estimate
convert conversion transform
recommend suggest advise
recognize recognition detect identify
classify categorize
describe description
check verify validate
summarize summary
analyze analysis analyse
fix repair solve
buy purchase order
book reserve
teach tutor learn
picture photo image photograph
speech voice audio
movie film
song music track playlist
car vehicle automobile
house home property apartment
hotel accommodation lodging
trip travel vacation tour
flight plane airline
weather forecast
food eat diet nutrition
recipe cook meal dish
restaurant dining
job career employment hire
doctor physician
illness disease
medicine drug medication
exercise workout fitness
child kid
mother mum mom
father dad
grandmother grandma
grandfather grandpa
pet animal
gift present
shop product
discount coupon deal
price cost
invoice bill
currency money exchange
stock share
cryptocurrency crypto bitcoin
company business firm
law legal
study research
paper literature publication
test exam quiz
email mail
message sms
appointment meeting
calendar schedule
news headline
latest recent
file document
folder directory
website webpage site url
chart graph plot diagram
code program
error bug
repository repo
database db sql
area region location
`
  .trim()
  .split('\n')
  .map(line => line.split(' '))

/** The synonyms of each term, as terms. */
export function createSynonymTable(): ReadonlyMap<string, readonly string[]> {
  const table = new Map<string, string[]>()
  for (const group of SYNONYMS.map(words => words.map(toTerm)))
    for (const term of group) table.set(term, [...(table.get(term) ?? []), ...group.filter(other => other !== term)])
  return table
}
