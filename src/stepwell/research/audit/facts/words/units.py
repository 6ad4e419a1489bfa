"""Units of figures, each with one canonical name, and words that multiply a figure, such as "million". Nothing is converted: 1 km is not
1000 m here."""

from __future__ import annotations

from decimal import Decimal

_UNITS = {
    # dimension: canonical name: other spellings
    "share": {
        "percent": "% percent per-cent pct prozent pour-cent por-ciento",
        "points": "percentage-points percentage-point prozentpunkte pp",
    },
    "money": {
        "USD": "$ us$ usd dollar dollars us-dollars us-dollar dólares",
        "EUR": "€ eur euro euros",
        "GBP": "£ gbp sterling",
        "JPY": "¥ jpy yen",
        "CHF": "chf francs franken",
        "CNY": "cny rmb yuan",
        "INR": "₹ inr rupees",
        "BTC": "₿ btc bitcoin bitcoins",
        **{
            code: code.lower()
            for code in ("SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "AUD", "CAD", "NZD", "BRL", "MXN", "ZAR", "KRW")
        },
        "sat": "sats sat satoshis",
        "cent": "cents",
    },
    "length": {
        "km": "km kilometre kilometres kilometer kilometers",
        "m": "m metre metres meter meters mètres metros",
        "cm": "cm centimetre centimetres centimeter centimeters zentimeter",
        "mm": "mm millimetre millimetres millimeter millimeters",
        "mi": "mi mile miles meilen",
        "ft": "ft foot feet fuß",
        "in": "inch inches",
        "yd": "yard yards",
    },
    "area": {
        "km2": "km² km2 sq-km square-kilometres square-kilometers quadratkilometer",
        "m2": "m² m2 sq-m square-metres square-meters quadratmeter",
        "ha": "ha hectare hectares hektar",
        "acre": "acre acres",
        "mi2": "square-miles sq-mi",
    },
    "mass": {
        "kg": "kg kilogram kilograms kilogramm kilos",
        "g": "g gram grams gramm",
        "mg": "mg milligrams",
        "t": "t tonne tonnes ton tons tonnen",
        "lb": "lb lbs pound pounds",
    },
    "volume": {
        "l": "l litre litres liter liters",
        "ml": "ml millilitres",
        "m3": "m³ m3 cubic-metres cubic-meters",
        "gal": "gallon gallons",
    },
    "time": {
        "ms": "ms milliseconds",
        "s": "s sec secs seconds sekunden",
        "min": "min mins minute minutes minuten",
        "h": "h hr hrs hour hours stunde stunden heures horas",
        "day": "day days tag tage tagen jours días",
        "week": "week weeks woche wochen semaines semanas",
        "month": "month months monat monate monaten mois meses",
        "year": "year years yr yrs jahr jahre jahren an ans années años",
        "decade": "decade decades",
        "century": "centuries",
    },
    "temperature": {
        "C": "°c celsius degrees-celsius grad",
        "F": "°f fahrenheit degrees-fahrenheit",
        "K": "kelvin",
        "degree": "° degrees",
    },
    "energy": {"kWh": "kwh", "MWh": "mwh", "GWh": "gwh", "TWh": "twh", "J": "joule joules"},
    "power": {"W": "w watt watts", "kW": "kw kilowatts", "MW": "mw megawatts", "GW": "gw gigawatts"},
    "data": {"KB": "kb kilobytes", "MB": "mb megabytes", "GB": "gb gigabytes", "TB": "tb terabytes"},
    "speed": {"km/h": "km/h kmh kph", "mph": "mph", "m/s": "m/s"},
    "order": {"ordinal": "st nd rd th"},
}
UNIT_OF = {form: name for names in _UNITS.values() for name, forms in names.items() for form in forms.split()}
DIMENSION_OF = {name: dimension for dimension, names in _UNITS.items() for name in names}
CURRENCY_SIGNS = "$€£¥₹₿"
CURRENCY_CODES = tuple(code for code in _UNITS["money"] if len(code) == 3 and code.isupper())

_WORDS = {
    3: "thousand thousands k tausend mille mil",
    6: "million millions mn mln mio millionen millones",
    9: "billion billions bn mrd milliarde milliarden milliard milliards",
    12: "trillion trillions tn billionen",
    2: "hundred hundreds hundert cent cien",
}
MULTIPLIER_OF = {word: Decimal(10) ** power for power, words in _WORDS.items() for word in words.split()}
